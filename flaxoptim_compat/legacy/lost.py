"""Everything lost beside flax.optim: names, from the tables, and behaviours of existing names."""

from __future__ import annotations

from contextlib import ExitStack

from flaxoptim_compat.legacy.calls import tables as calls
from flaxoptim_compat.legacy.entry import LegacyName, object_at
from flaxoptim_compat.legacy.names import of_flax, of_jax, of_numpy, of_python
from flaxoptim_compat.legacy.took_lists import TOOK_LISTS

# The lost names of packages, each with versions of its own.
OF_PACKAGES: tuple[LegacyName, ...] = (*of_jax.ENTRIES, *of_numpy.ENTRIES, *of_flax.ENTRIES)
ENTRIES: tuple[LegacyName, ...] = (*OF_PACKAGES, *of_python.ENTRIES)

# {module: functions to call after its import; each switches a behaviour on until a stack is closed}
BEHAVIOURS: dict[str, tuple[str, ...]] = {
    # For a behaviour of Python itself: this module is loaded in every program.
    "collections": ("flaxoptim_compat.legacy.array_defaults:accept_array_defaults",),
    "jax": (
        "flaxoptim_compat.legacy.lists:accept_list_indices",
        "flaxoptim_compat.legacy.stand_ins.jax_config:accept_omnistaging",
    ),
    "flax": (
        "flaxoptim_compat.legacy.linen_behaviour:restore_settings",
        "flaxoptim_compat.legacy.linen_behaviour:ignore_new_deprecations",
        "flaxoptim_compat.legacy.calls.linen_modules:let_features_out",
        "flaxoptim_compat.legacy.linen_behaviour:mend_what_is_restored",
    ),
}


# The modules with behaviours to switch on after their import.
MODULES = calls.MODULES | BEHAVIOURS.keys() | TOOK_LISTS.keys()


def switch_on(module: str, undo: ExitStack) -> None:
    """Switch the behaviours of a module on, until a stack is closed."""
    for path in BEHAVIOURS.get(module, ()):
        object_at(path)(undo)
    # Before the old arguments, some of which are lists for arguments of today.
    if module in TOOK_LISTS:
        object_at("flaxoptim_compat.legacy.lists:accept_lists")(module, undo)
    if module in calls.MODULES:
        object_at("flaxoptim_compat.legacy.calls.serving:serve")(module, undo)
