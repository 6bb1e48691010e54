# Steps that functools.reduce does, one gradient after another.
import functools
from functools import reduce

from arrays import gradients, parameters
from flax import optim


def step(optimizer, number):
    return optimizer.apply_gradient(gradients(optimizer.target, number))


def run():
    adam = functools.reduce(step, range(3), optim.Adam(0.1).create(parameters()))
    grads = [gradients(parameters(), number) for number in range(3)]
    momentum = optim.Momentum(0.1).create(parameters())
    momentum = reduce(lambda o, g: o.apply_gradient(g, learning_rate=0.05), grads, momentum)
    optimizers = [optim.GradientDescent(0.1).create(parameters()) for _ in range(2)]
    last = reduce(lambda first, second: second.apply_gradient(first.target), optimizers)
    return adam.target, momentum.target, momentum.state.step, last.target
