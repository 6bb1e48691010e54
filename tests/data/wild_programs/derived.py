# Classes whose objects are made, and whose methods are called, where nobody sees it.
import sys

from arrays import gradients, parameters
from flax import optim


class Trainer:
    def __init__(self, rate):
        self.states = {"main": self.make(rate).create(parameters())}

    @property
    def params(self):
        return self.states["main"].target

    def __len__(self):
        return len(self.states["main"].target)

    def make(self, rate):
        return optim.Adam(rate, beta1=0.5)

    def update(self):
        self.states["main"] = self.states["main"].apply_gradient(gradients(self.params))


class Slow(Trainer):
    def make(self, rate):
        return optim.Momentum(rate / 10)


class Slower(Slow):
    def update(self):
        self.states["main"] = self.states["main"].apply_gradient(gradients(self.params, 1))


def run():
    made = [getattr(sys.modules[__name__], name)(0.1) for name in ("Trainer", "Slow", "Slower")]
    for each in made:
        each.update()
    return [(each.params, len(each)) for each in made]
