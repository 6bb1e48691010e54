"""Whether ``flax.metrics.tensorboard``, which is still there, can be imported."""

from __future__ import annotations

import importlib.util

_IT_IMPORTS = ("tensorflow", "tensorboard")


def is_needed() -> bool:
    """Whether something that it imports is not installed. Nothing is imported to find out."""
    return not all(map(_is_there, _IT_IMPORTS))


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:
        # A module that was made by hand has no spec, but it is there.
        return True
