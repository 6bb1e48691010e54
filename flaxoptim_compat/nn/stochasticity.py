"""Random keys by context: ``with nn.stochastic(rng)``, and what takes keys there."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax.numpy as jnp
from jax import lax, random

from flaxoptim_compat.nn.call_stack import CallStack

_KEYS = CallStack()


@contextmanager
def stochastic(rng: Any) -> Iterator[None]:
    """Give ``make_rng``, and so ``dropout``, keys while a ``with`` block runs.

    Args:
      rng: the key that all of them come from.
    """
    # fold_in(rng, 1), fold_in(rng, 2) and so on.
    with _KEYS.frame(map(functools.partial(random.fold_in, rng), itertools.count(1))):
        yield


def is_stochastic() -> bool:
    """Whether there are keys, because this runs in a block of ``stochastic``."""
    return bool(_KEYS)


def make_rng() -> Any:
    """A new key of the innermost block of ``stochastic``."""
    if not _KEYS:
        raise ValueError(
            "There are no random keys here: run this in a block of `with flax.nn.stochastic(rng):`."
        )
    return next(_KEYS[-1])


def dropout(inputs: Any, rate: float, deterministic: bool = False, rng: Any = None) -> Any:
    """Set some of the inputs to zero, and divide the others by ``1 - rate``.

    Args:
      inputs: an array.
      rate: which part of them becomes zero.
      deterministic: whether to return them as they are.
      rng: the key; by default one of ``make_rng``.
    """
    if rate == 0.0 or deterministic:
        return inputs
    kept = 1.0 - rate
    mask = random.bernoulli(make_rng() if rng is None else rng, p=kept, shape=inputs.shape)
    return lax.select(mask, inputs / kept, jnp.zeros_like(inputs))
