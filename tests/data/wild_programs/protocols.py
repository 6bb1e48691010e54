# Optimizers in default factories.
import dataclasses

import jax
from arrays import gradients, parameters
from flax import optim


@dataclasses.dataclass
class Run:
    learned: object = dataclasses.field(
        default_factory=lambda: optim.Momentum(0.1).create(parameters())
    )
    steps: int = 0

    def step(self):
        self.learned = self.learned.apply_gradient(gradients(self.learned.target))
        self.steps += 1


@jax.jit
def step_of(optimizer):
    losses, grads = jax.value_and_grad(lambda p: (p["scale"] ** 2).sum())(optimizer.target)
    return optimizer.apply_gradient(grads), losses.mean()


def run():
    state = Run()
    state.step()
    last, _ = step_of(state.learned)
    return dataclasses.replace(state, steps=5).learned.target, last.target
