# Optimizers in coroutines, default factories and functions that are chosen by a class.
import dataclasses
import functools

import jax
from arrays import gradients, parameters
from flax import optim


def training(optimizer):
    while True:
        grads = yield optimizer
        optimizer = optimizer.apply_gradient(grads)


@dataclasses.dataclass
class Run:
    learned: object = dataclasses.field(
        default_factory=lambda: optim.Momentum(0.1).create(parameters())
    )
    steps: int = 0

    def step(self):
        self.learned = self.learned.apply_gradient(gradients(self.learned.target))
        self.steps += 1


@functools.singledispatch
def params_of(model):
    return model


@params_of.register(optim.Optimizer)
def _(model):
    return model.target


@jax.jit
def step_of(optimizer):
    losses, grads = jax.value_and_grad(lambda p: (p["scale"] ** 2).sum())(optimizer.target)
    return optimizer.apply_gradient(grads), losses.mean()


def run():
    trained = training(optim.Adam(0.1).create(parameters()))
    optimizer = next(trained)
    optimizer = trained.send(gradients(optimizer.target))
    state = Run()
    state.step()
    both = params_of(state.learned), params_of(None)
    last, _ = step_of(optimizer)
    return optimizer.target, dataclasses.replace(state, steps=5).learned.target, both, last.target
