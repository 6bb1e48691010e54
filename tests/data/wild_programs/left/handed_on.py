# The create of a definition, which is called somewhere else.
import jax
from arrays import gradients, parameters
from flax import optim


class Trainer:
    def __init__(self, make):
        self.make = make
        self.optimizer = make(parameters())

    def update(self):
        self.optimizer = self.optimizer.apply_gradient(gradients(self.optimizer.target))

    def reset(self):
        self.optimizer = jax.jit(self.make)(self.optimizer.target)


def made(makers):
    return [make(target=parameters()) for make in makers]


def run():
    definition = optim.Adam(0.1, weight_decay=0.1)
    trainer = Trainer(definition.create)
    definition = optim.Momentum(0.1)
    for _ in range(2):
        trainer.update()
        trainer.reset()
    first, second = made([definition.create, optim.GradientDescent(0.5).create])
    steps = [each.apply_gradient(gradients(each.target)).target for each in (first, second)]
    return trainer.optimizer.target, steps
