"""A TrainState of flax and optax, for orbax to save and to restore."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import serialization
from flax.training.train_state import TrainState

PARAMS = {
    "Dense_0": {"bias": jnp.ones(4, jnp.bfloat16), "kernel": jnp.ones((3, 4))},
    "t": jnp.ones(()),
}
TX = optax.chain(optax.clip(1.0), optax.adam(0.1))


@functools.cache
def state() -> TrainState:
    fresh = TrainState.create(apply_fn=None, params=PARAMS, tx=TX)
    return fresh.apply_gradients(grads=PARAMS)


def template() -> TrainState:
    return TrainState.create(apply_fn=None, params=jax.tree.map(jnp.zeros_like, PARAMS), tx=TX)


def state_dict(empty: Any = None) -> dict[str, Any]:
    """What flax says is in the state; orbax has None for the states of optax that are empty."""
    found = jax.tree.map(np.asarray, serialization.to_state_dict(state()))
    found["step"] = 1
    found["opt_state"]["0"] = found["opt_state"]["1"]["1"] = empty
    return found


def save_pytree(path: Path, **options: Any) -> Path:
    ocp.PyTreeCheckpointer(**options).save(path, state())
    return path
