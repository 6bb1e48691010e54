# Optimizers in a list, and a step that is an array.
import jax.numpy as jnp
from arrays import gradients, parameters
from flax import optim


def run():
    optimizers = [optim.Momentum(rate).create(parameters()) for rate in (0.1, 0.2)]
    first = optimizers[0].state.step[None]
    for number in range(len(optimizers)):
        grads = gradients(optimizers[number].target)
        optimizers[number] = optimizers[number].apply_gradient(
            grads, learning_rate=0.1 / (number + 1)
        )
    steps = jnp.concatenate([first, optimizers[1].state.step[jnp.newaxis]])
    return [optimizer.target for optimizer in optimizers], steps
