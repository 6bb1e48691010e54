"""Random keys: by context, in ``with nn.stochastic(rng)``, and those of parameters."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax, random

from flaxoptim_compat.nn.frames import CallStack
from flaxoptim_compat.versions.of_jax import computed_where

T = TypeVar("T")
_KEYS = CallStack()


@contextmanager
def stochastic(rng: Any) -> Iterator[None]:
    """Give ``make_rng``, and so ``dropout``, keys while a block runs: all come from this one."""
    # fold_in(rng, 1), fold_in(rng, 2) and so on.
    with _KEYS.frame(map(functools.partial(random.fold_in, rng), itertools.count(1))):
        yield


def is_stochastic() -> bool:
    """True if there are keys, because this runs in a block of ``stochastic``."""
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


def fold_in_name(rng: Any, name: str) -> Any:
    """The key of a module or parameter: ``fold_in(rng, the first 32 bits of sha1(name))``."""
    digest = hashlib.sha1(name.encode()).digest()
    # Flax took them as a number with a sign, which jax then wrapped around, and refuses today.
    return jax.random.fold_in(rng, int.from_bytes(digest[:4], "big"))


def outside_of_transformations(rng: Any, compute: Callable[[], T]) -> T:
    """Compute something from a key as if no transformation were between here and the key.

    So a parameter that is made in the body of a ``lax.scan``, or while ``init_by_shape`` looks at
    shapes only, is an array that the whole program can use.

    Args:
      rng: the key.
      compute: uses the key, and nothing that comes from further inside, if that is possible.
    """
    try:
        # Where the key itself is traced, by a jit around all of it, so is what is computed from it.
        with computed_where(rng):
            return compute()
    except (TypeError, jax.errors.UnexpectedTracerError, AssertionError):
        # An initializer that depends on an input, which was traced further inside. If something
        # else is wrong, it is wrong again.
        return compute()
