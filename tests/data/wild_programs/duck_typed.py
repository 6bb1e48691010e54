# Optimizers that are told by what they have, and entries of their state dicts.
import unittest

from arrays import gradients, parameters
from flax import optim, serialization


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


def params_of(model):
    return model.target if hasattr(model, "target") else model


def step(model, grads):
    if hasattr(model, "apply_gradient"):
        return model.apply_gradient(grads)
    return model


def warm_started(optimizer, params):
    entries = serialization.to_state_dict(optimizer)
    if "target" in entries:
        entries["target"] = serialization.to_state_dict(params)
    return serialization.from_state_dict(optimizer, entries)


class Checks(unittest.TestCase):
    def runTest(self):
        optimizer = optim.Adam(0.1).create(parameters())
        self.assertIsInstance(optimizer, optim.Optimizer)
        self.assertIsNotNone(optimizer)


def run():
    algorithm = Algorithm.registry["momentum"](parameters())
    algorithm.optimizer = step(algorithm.optimizer, gradients(algorithm.optimizer.target))
    trained = params_of(algorithm.optimizer)
    optimizer = warm_started(optim.Adam(0.1).create(parameters()), trained)
    optimizer = step(optimizer, gradients(getattr(optimizer, "target")))
    Checks().debug()
    return trained, params_of(optimizer), params_of(trained), step(trained, None)
