# A step that is set, of optimizers whose rate is given to every step: one has no rate of its own.
from arrays import gradients, parameters
from flax import optim


def train(optimizer):
    for step in (3, 12):
        optimizer = optimizer.replace(state=optimizer.state.replace(step=step))
        optimizer = optimizer.apply_gradient(gradients(optimizer.target), learning_rate=0.1)
    return optimizer.target


def run():
    without = optim.AdaBelief().create(parameters())
    return train(without), train(optim.Adam(0.3).create(parameters()))
