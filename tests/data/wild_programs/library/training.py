import arrays
import jax

from library import making

from . import steps as steps_
from .evaluating import evaluate
from .names import Optimizer


def train(optimizer: Optimizer, number) -> Optimizer:
    step = jax.jit(steps_.step)
    for index in range(number):
        optimizer, _ = step(optimizer, index)
    return optimizer


def run():
    found = []
    for name in ("adam", "momentum"):
        optimizer = making.create({"optimizer": name, "rate": 0.05}, arrays.parameters())
        optimizer = train(optimizer, 3)
        optimizer = train(steps_.restart(optimizer, arrays.parameters()), 2)
        found.append((optimizer.target, optimizer.state.step))
    return found, evaluate({"optimizer": "adam", "rate": 0.05})
