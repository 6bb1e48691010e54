"""Optimizers of the case table, and compiled steps of them and of TrainStates, to take many."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from flaxoptim_compat import optim
from tests.support import cases
from tests.support.training import create

NAMES = [case.name for case in cases.CASES]
# No hyper-parameter at its default, and what is made of several.
ALL_CHANGED = [
    *(name for name in NAMES if name.endswith("-all") or name.startswith("Multi")),
    "Adafactor-all_factored",
    "WeightNorm-over_Adam",
]
# One of each kind: plain optax, transforms of ours, factors, a wrapper, masks.
KINDS = [
    "Adam-all",
    "LARS-all",
    "Adafactor-all_factored",
    "WeightNorm-over_Adam",
    "MultiOptimizer-two",
]


def make(name: str) -> Any:
    return create(cases.case(name), optim)


def gradients(tree: Any, step: int) -> Any:
    return jax.tree.map(jnp.asarray, cases.gradients(step, tree))


@jax.jit
def legacy_step(optimizer: Any, grads: Any) -> Any:
    return optimizer.apply_gradient(grads)


@jax.jit
def optax_step(state: Any, grads: Any) -> Any:
    return state.apply_gradients(grads=grads)


def train(optimizer: Any, steps: range) -> Any:
    for step in steps:
        optimizer = legacy_step(optimizer, gradients(optimizer.target, step))
    return optimizer
