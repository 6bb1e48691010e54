# Optimizers of classes that a registry knows, and checks of unittest.
import unittest

from arrays import gradients, parameters
from flax import optim


class Algorithm:
    registry = {}

    def __init_subclass__(cls, name=None, **kwargs):
        super().__init_subclass__(**kwargs)
        Algorithm.registry[name] = cls

    def __init__(self, params):
        self.optimizer = self.definition().create(params)


class WithMomentum(Algorithm, name="momentum"):
    def definition(self):
        return optim.Momentum(0.1)


class Checks(unittest.TestCase):
    def runTest(self):
        optimizer = optim.Adam(0.1).create(parameters())
        self.assertIsInstance(optimizer, optim.Optimizer)
        self.assertIsNotNone(optimizer)


def run():
    algorithm = Algorithm.registry["momentum"](parameters())
    grads = gradients(algorithm.optimizer.target)
    algorithm.optimizer = algorithm.optimizer.apply_gradient(grads)
    Checks().debug()
    return algorithm.optimizer.target
