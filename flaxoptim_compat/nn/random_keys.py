"""The random keys of parameters, and where they are computed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

import jax

from flaxoptim_compat.versions.of_jax import computed_where

T = TypeVar("T")


def fold_in_name(rng: Any, name: str) -> Any:
    """The key of what has this name: ``fold_in(rng, the first 32 bits of sha1(name))``.

    Args:
      rng: the key of the module around it.
      name: of a module or a parameter.
    """
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
