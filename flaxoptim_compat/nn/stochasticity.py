"""Random keys: from the block ``with nn.stochastic(rng)``, and the keys of parameters."""

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
    """Give ``make_rng``, and so ``dropout``, keys for a block, all of them made from ``rng``."""
    # The keys are fold_in(rng, 1), fold_in(rng, 2) and so on.
    with _KEYS.frame(map(functools.partial(random.fold_in, rng), itertools.count(1))):
        yield


def is_stochastic() -> bool:
    """True if there are keys: in a block of ``stochastic``."""
    return bool(_KEYS)


def make_rng() -> Any:
    """A new key from the innermost block of ``stochastic``."""
    if not _KEYS:
        raise ValueError(
            "There are no random keys here: run the module in a block of `with"
            " flax.nn.stochastic(rng):`."
        )
    return next(_KEYS[-1])


def dropout(inputs: Any, rate: float, deterministic: bool = False, rng: Any = None) -> Any:
    """Set some of the inputs to zero, and divide the others by ``1 - rate``.

    Args:
      inputs: an array.
      rate: the part of the inputs that becomes zero.
      deterministic: whether to return the inputs unchanged.
      rng: the key; by default a key of ``make_rng``.
    """
    if rate == 0.0 or deterministic:
        return inputs
    kept = 1.0 - rate
    mask = random.bernoulli(make_rng() if rng is None else rng, p=kept, shape=inputs.shape)
    return lax.select(mask, inputs / kept, jnp.zeros_like(inputs))


def fold_in_name(rng: Any, name: str) -> Any:
    """The key of a module or parameter: ``fold_in(rng, the first 32 bits of sha1(name))``."""
    digest = hashlib.sha1(name.encode()).digest()
    # Flax read these bits as a signed number; jax used to wrap it around, and refuses it today.
    return jax.random.fold_in(rng, int.from_bytes(digest[:4], "big"))


def outside_of_transformations(rng: Any, compute: Callable[[], T]) -> T:
    """The result of a function of a key, computed outside the transformations that began later.

    A parameter that is made in the body of a ``lax.scan``, or while ``init_by_shape`` computes
    shapes only, is then an array that the whole program can use.

    Args:
      rng: the key.
      compute: uses the key; if possible, it uses no value that was traced after the key was made.
    """
    try:
        # A jit around everything traces the key itself, and then also the result.
        with computed_where(rng):
            return compute()
    except (TypeError, jax.errors.UnexpectedTracerError, AssertionError):
        # The initializer depends on an input that was traced later. Any other error is raised
        # again.
        return compute()
