"""Names that Python's own modules dropped since 3.7, the Python of old programs."""

from __future__ import annotations

from flaxoptim_compat.legacy.names.table import entries

ENTRIES = entries(
    """
collections
  3.10 collections.abc: AsyncGenerator AsyncIterable AsyncIterator Awaitable Callable Collection
      Container Coroutine Generator Hashable ItemsView Iterable Iterator KeysView Mapping
      MappingView MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized ValuesView
fractions
  3.9 math: gcd
inspect
  3.11 ~python_names: getargspec -> inspect.getfullargspec
base64
  3.9 base64: decodestring=decodebytes encodestring=encodebytes
time
  3.8 time: clock=perf_counter
"""
)
