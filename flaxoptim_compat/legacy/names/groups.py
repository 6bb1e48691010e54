"""Several entries at once: names of one module that left it in one release."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.legacy.entry import Entry

STAND_INS = "flaxoptim_compat.legacy.stand_ins."


def group(
    module: str, served_by: str, gone_since: str, names: str, instead: str = ""
) -> Iterator[Entry]:
    """Make the entries of names that one other module serves.

    Args:
      module: the module that had the names.
      served_by: the module that serves them.
      gone_since: the first release without them.
      names: the names, with blanks between them; ``old=new`` where the other module calls it so.
      instead: what to write today, with ``{}`` for the new name, if that is not what serves it.
    """
    for name in names.split():
        old, _, new = name.partition("=")
        served = f"{served_by}:{new or old}"
        yield Entry(f"{module}.{old}", served, gone_since, instead.format(new or old))
