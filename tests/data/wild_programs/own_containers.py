# Optimizers in a class of the program that is a container, and definitions as keys.
from arrays import parameters
from flax import optim


class Ensemble:
    def __init__(self, rates):
        self.members = [optim.GradientDescent(rate).create(parameters()) for rate in rates]

    def __iter__(self):
        return iter(self.members)


def run():
    iterated = [member.target for member in Ensemble([0.1, 0.2])]
    rates = {optim.Momentum(rate): rate for rate in (0.1, 0.3)}
    named = {rate: each.create(parameters()).target for each, rate in rates.items()}
    created = [each.create(parameters()).target for each in rates]
    return iterated, named, created
