"""What went missing beside flax.optim: names, from the tables, and behaviours of today's names."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.names import of_flax, of_jax, of_numpy

ENTRIES: tuple[Entry, ...] = (*of_jax.ENTRIES, *of_numpy.ENTRIES, *of_flax.ENTRIES)

# {package: functions that switch a behaviour on, once it is imported, and return how to undo it}
BEHAVIOURS: dict[str, tuple[str, ...]] = {
    "jax": (
        "flaxoptim_compat.legacy.lists:accept_lists",
        "flaxoptim_compat.legacy.stand_ins.jax_config:accept_omnistaging",
    ),
    "flax": (
        "flaxoptim_compat.legacy.linen_behaviour:return_frozen_dicts",
        "flaxoptim_compat.legacy.linen_behaviour:msgpack_checkpoints",
        "flaxoptim_compat.legacy.linen_behaviour:ignore_new_deprecations",
    ),
}


def switch_on(package: str) -> list[Callable[[], None]]:
    """Switch the behaviours of a package on; returns what undoes each."""
    undo = []
    for path in BEHAVIOURS.get(package, ()):
        module, _, function = path.partition(":")
        undo.append(getattr(importlib.import_module(module), function)())
    return undo
