# Optimizers in classes of the program that are containers, and in plain ones by their keys.
from arrays import gradients, parameters
from flax import optim


class Ensemble:
    def __init__(self, rates):
        self.members = [optim.GradientDescent(rate).create(parameters()) for rate in rates]

    def __iter__(self):
        return iter(self.members)


class Members(list):
    pass


class AttributeDict(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


def run():
    iterated = [member.target for member in Ensemble([0.1, 0.2])]
    listed = [one.target for one in Members([optim.Adam(0.1).create(parameters())])]
    state = AttributeDict(last=optim.Adam(0.2).create(parameters()))
    state.last = state.last.apply_gradient(gradients(state["last"].target))
    rates = {optim.Momentum(rate): rate for rate in (0.1, 0.3)}
    named = {rate: each.create(parameters()).target for each, rate in rates.items()}
    created = [each.create(parameters()).target for each in rates]
    return iterated, listed, state.last.target, named, created
