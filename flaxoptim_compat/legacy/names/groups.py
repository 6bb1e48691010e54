"""Several entries at once: names of one module that left it in one release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flaxoptim_compat.legacy.entry import Entry

STAND_INS = "flaxoptim_compat.legacy.stand_ins."
# Those of whole modules, which rewritten programs import by these names.
ERA = "flaxoptim_compat.era."


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


def stand_ins(
    module: str, stand_in: str, gone_since: str, instead: Mapping[str, str]
) -> Iterator[Entry]:
    """Make the entries of names that a stand-in serves.

    Args:
      module: the module that had the names.
      stand_in: the module that serves them, of ``legacy.stand_ins`` where nothing else is said.
      gone_since: the first release without them.
      instead: what to write today for each name, or for several with blanks between them; both as
        for ``group``.
    """
    home = stand_in if "." in stand_in else STAND_INS + stand_in
    for names, today in instead.items():
        yield from group(module, home, gone_since, names, today)
