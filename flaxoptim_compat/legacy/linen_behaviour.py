"""Behaviours that Flax had in the days of flax.optim, and that can be switched on again.

Each function switches one behaviour on, until a stack is closed. An environment variable for the
same setting is the user's choice, and wins.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import warnings
from contextlib import ExitStack
from typing import Any

from flax import serialization
from flax.configurations import config

from flaxoptim_compat.bridge.axes import reshaped
from flaxoptim_compat.legacy.replacing import replace

# The beginnings of warnings that Flax 0.5.3 did not have.
_NEW_DEPRECATIONS = (
    "Flax Checkpointing will soon be deprecated",
    "`flax.traverse_util.Traversal` will be deprecated",
    "SelfAttention will be deprecated",
    "The inputs_kv arg will be deprecated",
)


# {setting: its old value}
SETTINGS = {
    # Let ``init`` and ``apply`` return a FrozenDict, with ``unfreeze`` and its own ``pop``.
    "flax_return_frozendict": True,
    # Let ``save_checkpoint`` write one msgpack file; the directory may be a relative path.
    # Restoring does not depend on this setting: Flax recognises the format of a checkpoint.
    "flax_use_orbax_checkpointing": False,
}


def restore_settings(undo: ExitStack) -> None:
    """Give the settings of Flax their old values."""
    for name, value in SETTINGS.items():
        if name.upper() not in os.environ:
            before = getattr(config, name)
            config.update(name, value)
            undo.callback(_restore, name, value, before)


def _restore(name: str, value: bool, before: bool) -> None:
    # A program may have changed the setting since, and keeps its own value.
    if getattr(config, name) == value:
        config.update(name, before)


def ignore_new_deprecations(undo: ExitStack) -> None:
    """Ignore Flax's later deprecation warnings, so that programs survive ``python -W error``."""
    for message in _NEW_DEPRECATIONS:
        warnings.filterwarnings("ignore", re.escape(message), DeprecationWarning)
        undo.callback(_remove_filter, warnings.filters[0])


def _remove_filter(entry: Any) -> None:
    with contextlib.suppress(ValueError):  # the program may have removed the filter
        warnings.filters.remove(entry)  # type: ignore[attr-defined]


def mend_what_is_restored(undo: ExitStack) -> None:
    """Let Flax restore parameters without an optimizer, and averages of them, in today's shapes.

    An optimizer restores its parameters in today's shapes by itself.
    """
    genuine = serialization.from_state_dict

    @functools.wraps(genuine)
    def from_state_dict(target: Any, state: Any, name: str = ".") -> Any:
        # Flax also calls this for each entry, but only the whole tree shows copies for devices.
        inside = serialization.current_path()
        restored = genuine(target, state, name)
        return restored if inside else reshaped(target, restored)

    replace(serialization, "from_state_dict", from_state_dict, undo)
