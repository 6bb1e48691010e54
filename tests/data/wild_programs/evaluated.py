# What one function saves, others restore: with the same definition, and with another one.
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


def train_with_decay(saved):
    optimizer = optim.Momentum(0.1, weight_decay=0.01).create(parameters())
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    saved.append(serialization.to_bytes(optimizer))


def evaluate_without(saved):
    optimizer = optim.Momentum(0.1).create(parameters())
    restored = serialization.from_bytes(optimizer, saved[1])
    return restored.target, restored.state.step


def run():
    saved = []
    train(saved)
    train_with_decay(saved)
    return evaluate(saved), evaluate_without(saved)
