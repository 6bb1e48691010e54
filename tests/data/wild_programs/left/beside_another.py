# One of two optimizers is made by something that is not read.
import operator

from arrays import gradients, parameters
from flax import optim

make = operator.methodcaller("create", parameters())


def run():
    targets = []
    for own in (True, False):
        if own:
            optimizer = optim.GradientDescent(0.25).create(parameters())
        else:
            optimizer = make(optim.Momentum(0.1))
        for number in range(2):
            optimizer = optimizer.apply_gradient(gradients(optimizer.target, number))
        targets.append(optimizer.target)
    return targets
