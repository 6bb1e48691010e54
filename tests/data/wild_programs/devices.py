# One optimizer on every device, and many in one.
import functools

import flax
import jax
import jax.numpy as jnp
from arrays import gradients, parameters
from flax import jax_utils


@functools.partial(jax.pmap, axis_name="batch")
def train_step(optimizer, shift):
    grads = gradients(optimizer.target, shift)
    grads = jax.lax.pmean(grads, axis_name="batch")
    return optimizer.apply_gradient(grads)


def population(rates):
    def member(rate):
        optimizer = flax.optim.Momentum(beta=0.5).create(parameters())
        for number in range(2):
            grads = gradients(optimizer.target, number)
            optimizer = optimizer.apply_gradient(grads, learning_rate=rate)
        return optimizer.target

    return jax.vmap(member)(rates)


def run():
    optimizer = jax_utils.replicate(flax.optim.Adam(1e-2).create(parameters()))
    count = jax.local_device_count()
    for _ in range(3):
        optimizer = train_step(optimizer, jnp.arange(float(count)))
    step = optimizer.state.step[0]
    optimizer = jax_utils.unreplicate(optimizer)
    return optimizer.target, step, population(jnp.array([0.1, 0.2, 0.4]))
