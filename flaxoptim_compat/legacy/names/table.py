"""The form of the tables of names, and their reader.

A heading is a module that lost names, and each row below it says what became of some::

    jax.core
      0.7.0 jax.errors: ConcretizationTypeError
      0.11.0 ~jax_core: gensym -> jax.extend.core.gensym()

First comes the release that did not have the names any more, then the module that serves them: with
a colon if it has them, ``old=new`` where it calls one so, and without if it stands for a module of
that name itself. After ``->`` stands what to write today, with ``{}`` for the name, if that is not
what serves it.
"""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.text_table import rows

STAND_INS = "flaxoptim_compat.legacy.stand_ins."
# The stand-ins of whole modules, which rewritten programs import by these names.
ERA = "flaxoptim_compat.era."
# How a row begins the name of a module of this package.
_SHORT = {"~": STAND_INS, "era.": ERA, "nn": "flaxoptim_compat.nn"}
_PACKAGES = ("flax", "jax", "jaxlib", "numpy")


def entries(table: str) -> tuple[Entry, ...]:
    """The entries of a table."""
    return tuple(_entries(table))


def _entries(table: str) -> Iterator[Entry]:
    for module, row in rows(table):
        served, _, instead = row.partition(" -> ")
        release, place, *names = served.split()
        root = module.partition(".")[0]
        package = root if root in _PACKAGES else "Python"
        home, colon, _ = place.partition(":")
        home = _full(home)
        if home.startswith("jax._src") and not instead:
            instead = home + (".{} (private to jax)" if colon else " (private to jax)")
        for name in names:
            old, _, new = name.partition("=")
            served_by = f"{home}:{new or old}" if colon else home
            today = instead.replace("{}", new or old)
            yield Entry(f"{module}.{old}", served_by, f"{package} {release}", today)


def _full(home: str) -> str:
    for short, full in _SHORT.items():
        if home.startswith(short):
            return full + home.removeprefix(short)
    return home
