# Hyper-parameters of single steps, in some of them and not in others.
import jax
from arrays import gradients, parameters
from flax import optim


@jax.jit
def warm_up(optimizer, rate):
    return optimizer.apply_gradient(gradients(optimizer.target), learning_rate=rate)


@jax.jit
def train(optimizer):
    return optimizer.apply_gradient(gradients(optimizer.target, 1))


def decayed(optimizer, decay):
    return optimizer.apply_gradient(gradients(optimizer.target), weight_decay=decay)


def both(optimizer, rate, decay):
    return optimizer.apply_gradient(
        gradients(optimizer.target),  # of the bowl
        learning_rate=rate,
        weight_decay=decay,
    )


def run():
    optimizer = optim.Momentum(learning_rate=0.1, beta=0.5).create(parameters())
    for rate in (0.01, 0.02):
        optimizer = warm_up(optimizer, rate)
    for _ in range(2):
        optimizer = train(optimizer)
    optimizer = warm_up(optimizer, 0.005)
    heavy = optim.Adam(1e-2).create(parameters())
    for number in range(3):
        heavy = decayed(heavy, 0.1 * number)
    plain = optim.Adam(weight_decay=0.2).create(parameters())
    for number in range(3):
        plain = both(plain, 0.1 / (number + 1), 0.05 * number)
    return optimizer.target, heavy.target, plain.target
