"""Training the optimizers of the case table; the scripts of the old environment import this too."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp

from tests.support.cases import Case, gradients


def create(entry: Case, optim: Any, dtype: str = "float32") -> Any:
    """An optimizer of a case on the test model, from any namespace of optimizers."""
    params = jax.tree_util.tree_map(jnp.asarray, entry.parameters(dtype=dtype))
    return entry.build(optim).create(params)


def train(
    optimizer: Any,
    entry: Case,
    steps: Iterable[int],
    see: Callable[[Any], None] = lambda optimizer: None,
) -> Any:
    """Apply the gradients of these steps, showing the optimizer after each of them to ``see``."""
    for step in steps:
        optimizer = optimizer.apply_gradient(gradients(step, optimizer.target))
        see(optimizer)
    return optimizer
