# Rates that are functions of the step of the optimizer.
import jax
import jax.numpy as jnp
from arrays import gradients, parameters
from flax import optim

WARMUP = 2


def rate_at(step):
    return 0.1 * jnp.minimum(1.0, (step + 1) / WARMUP)


def cosine(step):
    return 0.05 * (1 + jnp.cos(jnp.pi * step / 8))


@jax.jit
def by_one_line(optimizer):
    grads = gradients(optimizer.target)
    return optimizer.apply_gradient(grads, learning_rate=rate_at(optimizer.state.step))


@jax.jit
def by_variables(optimizer):
    step = optimizer.state.step
    lr = cosine(step)
    grads = gradients(optimizer.target, step)
    optimizer = optimizer.apply_gradient(grads, learning_rate=lr)
    return optimizer, lr


def run():
    first = optim.Momentum(beta=0.5).create(parameters())
    second = optim.Adam(learning_rate=0.0, eps=1e-6).create(parameters())
    rates = []
    for _ in range(4):
        first = by_one_line(first)
        second, rate = by_variables(second)
        rates.append(rate)
    return first.target, second.target, rates
