"""Checkpoints of models that Linen made with other shapes, restored beside their optimizers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flax import serialization

from flaxoptim_compat.bridge.axes import mended
from flaxoptim_compat.legacy.replacing import replace


def mend_what_is_restored() -> Callable[[], None]:
    """Let Flax restore averages of parameters, and parameters alone, in the shapes of today.

    An optimizer does so by itself.
    """
    genuine = serialization.from_state_dict

    @functools.wraps(genuine)
    def from_state_dict(target: Any, state: Any, name: str = ".") -> Any:
        # Flax calls it for each entry, too, and only the whole tells copies for a device.
        inside = serialization.current_path()
        restored = genuine(target, state, name)
        return restored if inside else mended(target, restored)

    return replace(serialization, "from_state_dict", from_state_dict)
