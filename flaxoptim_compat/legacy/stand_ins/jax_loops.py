"""``jax.experimental.loops``: loops of jax that were written as loops of Python.

Here they are loops of Python: the values are the same, and under ``jit`` each round is compiled
by itself, so that bounds and conditions must be known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp

from flaxoptim_compat.versions.of_python import add_note


class Scope:
    """The variables that loops change, as attributes of this object."""

    def __enter__(self) -> Scope:
        return self

    def __exit__(self, *error: object) -> None:
        self._as_arrays()

    def range(self, first: int, second: int | None = None, third: int = 1) -> Iterator[jax.Array]:
        """Loop over numbers, which are arrays in the loop."""
        numbers = range(first) if second is None else range(first, second, third)
        for number in numbers:
            self._as_arrays()
            yield jnp.asarray(number)

    def cond_range(self, pred: Any) -> Iterator[None]:
        """Loop once, or not at all."""
        self._as_arrays()
        with _telling("jax.lax.cond"):
            enters = bool(pred)
        if enters:
            yield None

    def while_range(self, cond_func: Callable[[], Any]) -> Iterator[None]:
        """Loop as long as a condition holds."""
        while True:
            self._as_arrays()
            with _telling("jax.lax.while_loop"):
                goes_on = bool(cond_func())
            if not goes_on:
                return
            yield None

    def _as_arrays(self) -> None:
        for name, value in vars(self).items():
            setattr(self, name, jax.tree.map(jnp.asarray, value))


@contextmanager
def _telling(instead: str) -> Iterator[None]:
    try:
        yield
    except jax.errors.TracerBoolConversionError as error:
        add_note(error, f"jax.experimental.loops is gone; under jit, use {instead}.")
        raise
