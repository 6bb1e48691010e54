"""The form of the tables of lost names, and their reader.

A heading is a module that lost names, or several, and each row below has some of these names::

    jax.core
      0.7.0 jax.errors: ConcretizationTypeError
      0.11.0 ~jax_core: gensym -> jax.extend.core.gensym()

A row begins with the first release without the names, and the module that serves them. If a colon
follows, the serving module has these names, and ``old=new`` gives a name that differs there.
Without a colon, the names are lost modules, which the serving module stands in for. The text after
``->`` is the code to write today, with ``{}`` for the name, if programs should not use the serving
object.
"""

from __future__ import annotations

from flaxoptim_compat.legacy.entry import LegacyName
from flaxoptim_compat.legacy.text_table import rows

STAND_INS = "flaxoptim_compat.legacy.stand_ins."
# The stand-ins of whole modules, which rewritten programs import.
ERA = "flaxoptim_compat.era."
# {beginning of a name in a row: beginning of the full name}
_SHORT = {"~": STAND_INS, "era.": ERA, "nn": "flaxoptim_compat.nn"}
_PACKAGES = ("flax", "jax", "jaxlib", "numpy")


def entries(table: str) -> tuple[LegacyName, ...]:
    """The lost names in a table."""
    found = []
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
            found.append(LegacyName(f"{module}.{old}", served_by, f"{package} {release}", today))
    return tuple(found)


def _full(home: str) -> str:
    for short, full in _SHORT.items():
        if home.startswith(short):
            return full + home.removeprefix(short)
    return home
