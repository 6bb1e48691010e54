"""Names that Python's own modules dropped since 3.7, the Python of old programs."""

from __future__ import annotations

from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.names.groups import group, stand_ins

ENTRIES: tuple[Entry, ...] = (
    *group(
        "collections",
        "collections.abc",
        "Python 3.10",
        "AsyncGenerator AsyncIterable AsyncIterator Awaitable Callable Collection Container"
        " Coroutine Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView"
        " MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized ValuesView",
    ),
    Entry("fractions.gcd", "math:gcd", "Python 3.9"),
    *stand_ins("inspect", "python_names", "Python 3.11", {"getargspec": "inspect.getfullargspec"}),
    *group(
        "base64",
        "base64",
        "Python 3.9",
        "decodestring=decodebytes encodestring=encodebytes",
    ),
    Entry("time.clock", "time:perf_counter", "Python 3.8"),
)
