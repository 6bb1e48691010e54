"""One compiled step of a legacy optimizer and of a TrainState, for tests that take many."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from tests.support import cases


def gradients(tree: Any, step: int) -> Any:
    return jax.tree.map(jnp.asarray, cases.gradients(step, tree))


@jax.jit
def legacy_step(optimizer: Any, grads: Any) -> Any:
    return optimizer.apply_gradient(grads)


@jax.jit
def optax_step(state: Any, grads: Any) -> Any:
    return state.apply_gradients(grads=grads)
