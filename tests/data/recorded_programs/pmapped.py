"""One update in a pmap, whose numbers nobody outside of it can see, and how it is recorded."""

import functools

import jax
import jax.numpy as jnp
from flax import jax_utils

try:
    from flax import optim
except ImportError:
    from flaxoptim_compat import optim

optimizer = jax_utils.replicate(optim.Momentum(0.1).create({"w": jnp.ones(3)}))
batch = jnp.arange(1.0, jax.local_device_count() + 1)


@functools.partial(jax.pmap, axis_name="batch")
def train_step(optimizer, batch):
    grads = jax.grad(lambda params: jnp.sum(params["w"] ** 2) * batch)(optimizer.target)
    grads = jax.lax.pmean(grads, "batch")
    return optimizer.apply_gradient(grads), grads


def step(i):
    global optimizer
    optimizer, _ = train_step(optimizer, batch)


def replicated():
    global optimizer
    while True:
        new, grads = train_step(optimizer, batch)
        yield optimizer, grads
        optimizer = new


def unreplicated():
    for optimizer, grads in replicated():
        yield jax_utils.unreplicate(optimizer), jax_utils.unreplicate(grads)
