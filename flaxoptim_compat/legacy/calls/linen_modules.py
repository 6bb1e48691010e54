"""Old calls of Linen: cells took their features from the carry; attention had its mask third."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import MISSING, fields
from typing import Any

import jax.numpy as jnp
from flax import linen

CELLS = (linen.LSTMCell, linen.OptimizedLSTMCell, linen.GRUCell)


def has_no_features(*args: Any, **kwargs: Any) -> bool:
    """True if a cell is made without its number of features; a gate was the first argument."""
    _, *positional = args
    return callable(positional[0]) if positional else "features" not in kwargs


def without_features(original: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> None:
    """Make a cell without a number of features, which is that of its carry."""
    original(self, None, *args, **kwargs)


def let_features_out(undo: ExitStack) -> None:
    """Let classes made from cells, such as by ``linen.scan``, be made without features too."""
    for cell in CELLS:
        for field in fields(cell):
            if field.name == "features" and field.default is MISSING:
                field.default = None
                undo.callback(setattr, field, "default", MISSING)


def is_of_the_class(*args: Any, **kwargs: Any) -> bool:
    """True if ``initialize_carry`` is called on the class of a cell, with a key first."""
    return not (args and isinstance(args[0], linen.Module))


def one_state(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The carry of a GRU: one array."""
    from flaxoptim_compat.nn import GRUCell

    return GRUCell.initialize_carry(*_without_cell(args), **kwargs)


def two_states(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The carry of an LSTM: two arrays."""
    from flaxoptim_compat.nn import LSTMCell

    return LSTMCell.initialize_carry(*_without_cell(args), **kwargs)


def _without_cell(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return args if is_of_the_class(*args) else args[1:]


def has_its_mask_third(*args: Any, **_: Any) -> bool:
    """True if the third input has one dimension more than the first, as only a mask has."""
    if len(args) < 4 or args[3] is None:
        return False
    return bool(jnp.ndim(args[3]) == jnp.ndim(args[1]) + 1)
