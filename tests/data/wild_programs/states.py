# Dataclasses around an optimizer, annotations, and factories of steps.
from __future__ import annotations

import dataclasses
from typing import Any

import flax
import jax
import jax.numpy as jnp
from arrays import gradients, loss_of, parameters
from flax import optim


@flax.struct.dataclass
class TrainState:
    """What training changes."""

    optimizer: flax.optim.Optimizer
    average: Any
    rate: float | None = None


@dataclasses.dataclass
class Run:
    """What a program holds."""

    state: TrainState
    losses: list


def is_optimizer(x) -> bool:
    return isinstance(x, flax.optim.Optimizer)


def make_step(decay: float):
    def step(state: TrainState, number) -> tuple[TrainState, jnp.ndarray]:
        grads = gradients(state.optimizer.target, number)
        new_optimizer = state.optimizer.apply_gradient(grads, learning_rate=state.rate)
        average = jax.tree_multimap(
            lambda a, p: decay * a + (1 - decay) * p, state.average, new_optimizer.target
        )
        new = state.replace(optimizer=new_optimizer, average=average)
        return new, loss_of(new.optimizer.target)

    return jax.jit(step, donate_argnums=())


def initial(optimizer_def: optim.OptimizerDef) -> TrainState:
    optimizer: optim.Optimizer = optimizer_def.create(parameters())
    return TrainState(optimizer=optimizer, average=parameters(), rate=0.1)


def run():
    run_ = Run(initial(optim.Momentum(beta=0.9)), [])
    step = make_step(0.5)
    for number in range(3):
        run_.state, loss = step(run_.state, number)
        run_.losses.append(loss)
    state = dataclasses.replace(run_.state, rate=0.01)
    state, loss = step(state, int(state.optimizer.state.step))
    assert not is_optimizer(state)
    return state.optimizer.target, state.average, run_.losses, loss
