# What one function saves, another one restores.
from arrays import gradients, parameters
from flax import optim, serialization


def train(saved):
    optimizer = optim.Adam(beta2=0.9).create(parameters())
    for number in range(3):
        grads = gradients(optimizer.target, number)
        optimizer = optimizer.apply_gradient(grads, learning_rate=0.1 / (number + 1))
    saved.append(serialization.to_bytes(optimizer))


def evaluate(saved):
    optimizer = optim.Adam(1e-3).create(parameters())
    return serialization.from_bytes(optimizer, saved[0]).target


def run():
    saved = []
    train(saved)
    return evaluate(saved)
