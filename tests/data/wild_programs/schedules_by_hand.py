# Learning rates that are computed outside of what is compiled, with the step of the optimizer.
import math

import jax
import jax.numpy as jnp
import numpy as np
from arrays import gradients, parameters
from flax import optim


def staircase(step):
    return 0.05 * 0.7 ** (step // 3) * min(1.0, (step + 1) / 5.0)


def cosine(optimizer, total):
    return 0.5 * 0.05 * (1 + np.cos(np.pi * optimizer.state.step / total))


@jax.jit
def compiled(optimizer):
    rate = 0.3 * (optimizer.state.step + 1) ** -0.5
    return optimizer.apply_gradient(gradients(optimizer.target), learning_rate=rate)


def run():
    results = []
    optimizer = optim.GradientDescent(0.1).create(parameters())
    for _ in range(7):
        rate = staircase(optimizer.state.step)
        optimizer = optimizer.apply_gradient(gradients(optimizer.target), learning_rate=rate)
    results += [optimizer.target, rate]
    optimizer = optim.Momentum(0.1).create(parameters())
    for _ in range(3):
        rate = cosine(optimizer, 3)
        optimizer = optimizer.apply_gradient(gradients(optimizer.target), learning_rate=rate)
    results += [optimizer.target, rate]
    optimizer = optim.Adam(0.1).create(parameters())
    for _ in range(3):
        rate = 0.3 * (optimizer.state.step + 1) ** -0.5
        optimizer = optimizer.apply_gradient(gradients(optimizer.target), learning_rate=rate)
    results += [optimizer.target, rate, math.log(optimizer.state.step)]
    # Nothing of this is another one of a number of Python.
    optimizer = compiled(optim.Adam(0.1).create(parameters()))
    while optimizer.state.step % 4 != 0:
        optimizer = compiled(optimizer)
        results.append(f"{optimizer.state.step:03d}")
    # A copy of all leaves, each of which has to be an array.
    kept = optim.LAMB(0.1).create(parameters())
    copied = jax.tree_util.tree_map(lambda leaf: leaf.copy(), kept)
    kept = kept.apply_gradient(gradients(kept.target))
    results += [jnp.asarray(copied.state.step), kept.target]
    return results
