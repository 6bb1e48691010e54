# Annotations in quotes, of functions, fields and variables, as they stand before a class is known.
from typing import Optional

from arrays import gradients, parameters
from flax import optim


def make() -> "optim.Optimizer":
    return optim.Adam(learning_rate=1e-2).create(parameters())


def step_of(optimizer: "optim.Optimizer", scale: float) -> "tuple[optim.Optimizer, float]":
    grads = gradients(optimizer.target)
    return optimizer.apply_gradient(grads), scale / 2


class Trainer:
    optimizer: "Optional[optim.Optimizer]" = None
    best: list["optim.Optimizer"]

    def __init__(self, definition: "optim.OptimizerDef"):
        self.optimizer: "optim.Optimizer" = definition.create(parameters())
        self.best = [self.optimizer]

    def train(self) -> "Trainer":
        for _ in range(3):
            self.optimizer, _ = step_of(self.optimizer, 1.0)
        self.best.append(self.optimizer)
        return self


def run():
    optimizer, scale = step_of(make(), 1.0)
    trainer = Trainer(optim.Momentum(learning_rate=0.1)).train()
    return [optimizer.target, scale, trainer.best[-1].target]
