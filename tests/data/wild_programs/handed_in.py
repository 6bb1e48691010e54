# A state goes to functions that are handed in with it; what is trained is chosen by position.
import dataclasses
from typing import Any

import flax
import jax
from arrays import gradients, parameters
from flax import optim


@flax.struct.dataclass
class State:
    optimizer: optim.Optimizer
    history: Any = ()


class Keeper:
    state = None


def train_step(state, number):
    grads = gradients(state.optimizer.target, number)
    return state.replace(optimizer=state.optimizer.apply_gradient(grads))


def epoch(step, state, keeper, *, after=None):
    for number in range(3):
        state = step(state, number)
        keeper.state = state
        if after is not None:
            state = after(state)
    return state


def noted(state):
    norm = abs(state.optimizer.target["scale"]).sum()
    return dataclasses.replace(state, history=(*state.history, norm))


def run():
    biases = optim.ModelParamTraversal(lambda path, _: "bias" in path)
    keeper = Keeper()
    first = State(optim.Adam(0.1).create(parameters(), None))
    first = epoch(jax.jit(train_step), first, keeper, after=noted)
    second = State(optim.Momentum(0.1).create(parameters(), biases))
    second = epoch(train_step, second, keeper)
    kept = getattr(keeper.state, "optimizer")
    assert hasattr(first, "history") and flax.serialization.to_bytes((first, second))
    return first.optimizer.target, first.history, second.optimizer.target, kept.target
