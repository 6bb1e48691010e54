import jax.numpy as jnp
from flax import optim


def run(make):
    optimizer = optim.Adam(learning_rate=0.1).create(make())
    return optimizer.apply_gradient(jnp.ones(3)).target
