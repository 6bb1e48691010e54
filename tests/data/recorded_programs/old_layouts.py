"""Optimizers of older releases, beside Flax 0.5.3: other layouts of states and of models."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from tests.generate.record_old_layouts import old_optim
from tests.support.cases import case, gradients


@struct.dataclass
class Model:
    """What flax.nn had for a module and its parameters."""

    module: Any = struct.field(pytree_node=False)
    params: Any


def model():
    """Flax 0.2.2 trains a model, not its parameters."""
    params = {"dense": {"kernel": jnp.ones((2, 3)), "bias": jnp.zeros(3)}}
    optimizer = old_optim("0.2.2").Momentum(0.1).create(Model(None, params))
    while True:
        grads = jax.tree_util.tree_map(lambda leaf: leaf + 0.5, optimizer.target)
        yield optimizer, grads
        optimizer = optimizer.apply_gradient(grads)


def list_of_states():
    """Flax 0.3.2 keeps a state for each part of a MultiOptimizer."""
    entry = case("MultiOptimizer-two")
    params = jax.tree_util.tree_map(jnp.asarray, entry.parameters())
    optimizer = entry.build(old_optim("0.3.2")).create(params)
    for i in range(100):
        grads = gradients(i, entry.parameters())
        yield optimizer, grads
        optimizer = optimizer.apply_gradient(grads)
