"""``flax.core.lift.named_call`` and ``flax.linen.ConvLSTM``, which Flax 0.6 dropped or renamed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from flax import linen


def named_call(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Give what a function of a scope computes a name in profiles."""
    return jax.named_call(fn, name=name)


class ConvLSTM(linen.ConvLSTMCell):
    """``flax.linen.ConvLSTMCell`` with the carry, and the names of parameters, that it had.

    An anonymous cell in a module is called ``ConvLSTM_0`` there, as in old checkpoints.
    """

    @staticmethod
    def initialize_carry(  # type: ignore[override]
        rng: Any,
        batch_dims: tuple[int, ...],
        size: tuple[int, ...],
        init_fn: Callable[..., Any] = linen.initializers.zeros,
    ) -> tuple[Any, Any]:
        """The carry before the first input."""
        shape = (*batch_dims, *size)
        first, second = jax.random.split(rng)
        return init_fn(first, shape), init_fn(second, shape)
