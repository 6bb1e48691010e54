# What is computed of all leaves of an optimizer.
import jax
import jax.numpy as jnp
from arrays import gradients, parameters
from flax import optim


def run():
    optimizer = optim.Adam(0.1).create(parameters())
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    leaves = jax.tree_util.tree_leaves(optimizer)
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in leaves)), len(leaves)
