"""Losses beside flax.optim: names, from the tables, and behaviours of today's names."""

from __future__ import annotations

from collections.abc import Callable

from flaxoptim_compat.legacy.calls import tables as calls
from flaxoptim_compat.legacy.entry import Entry, object_at
from flaxoptim_compat.legacy.names import of_flax, of_jax, of_numpy, of_python

# Whose programs scan reads for lost names.
OF_PACKAGES: tuple[Entry, ...] = (*of_jax.ENTRIES, *of_numpy.ENTRIES, *of_flax.ENTRIES)
ENTRIES: tuple[Entry, ...] = (*OF_PACKAGES, *of_python.ENTRIES)

# {module: functions that switch a behaviour on, once it is imported, and return how to undo it}
BEHAVIOURS: dict[str, tuple[str, ...]] = {
    # Whichever of Python's modules is loaded in every program.
    "collections": ("flaxoptim_compat.legacy.array_defaults:accept_array_defaults",),
    "jax": (
        "flaxoptim_compat.legacy.lists:accept_lists",
        "flaxoptim_compat.legacy.lists:accept_list_indices",
        "flaxoptim_compat.legacy.stand_ins.jax_config:accept_omnistaging",
    ),
    "flax": (
        "flaxoptim_compat.legacy.linen_behaviour:return_frozen_dicts",
        "flaxoptim_compat.legacy.linen_behaviour:msgpack_checkpoints",
        "flaxoptim_compat.legacy.linen_behaviour:ignore_new_deprecations",
        "flaxoptim_compat.legacy.calls.linen_modules:let_features_out",
        "flaxoptim_compat.legacy.linen_behaviour:mend_what_is_restored",
    ),
}


# The modules of which something is switched on, when they are imported.
MODULES = calls.MODULES | BEHAVIOURS.keys()


def switch_on(module: str) -> list[Callable[[], None]]:
    """Switch the behaviours of a module on; returns what undoes each."""
    undo = [object_at(path)() for path in BEHAVIOURS.get(module, ())]
    if module in calls.MODULES:
        undo += object_at("flaxoptim_compat.legacy.calls.serving:serve")(module)
    return undo
