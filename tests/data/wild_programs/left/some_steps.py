# A rate that is an expression, and steps of which only some are given one.
from arrays import gradients, parameters
from flax import optim


def train(base):
    optimizer = optim.Momentum(learning_rate=base / 2).create(parameters())
    optimizer = optimizer.apply_gradient(gradients(optimizer.target), learning_rate=base)
    return optimizer.apply_gradient(gradients(optimizer.target, 1))


def run():
    return train(0.5).target
