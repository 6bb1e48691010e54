# Half precision with a scale that adapts, and steps that are taken back.
import functools

import jax
import jax.numpy as jnp
from arrays import loss_of, parameters
from flax import optim
from flax.optim import dynamic_scale as dynamic_scale_lib


@jax.jit
def train_step(optimizer, scale, factor):
    def loss_fn(params):
        return factor * loss_of(params)

    scale, is_fine, loss, grads = scale.value_and_grad(loss_fn)(optimizer.target)
    new = optimizer.apply_gradient(grads)
    kept = jax.tree_multimap(functools.partial(jnp.where, is_fin := is_fine), new, optimizer)
    return kept, scale, loss, is_fin


def run():
    optimizer = optim.Adam(0.01).create(parameters())
    scale = dynamic_scale_lib.DynamicScale(growth_interval=2)
    found = []
    for factor in (1.0, float("inf"), 0.5, 0.25):
        optimizer, scale, _, is_fine = train_step(optimizer, scale, factor)
        found.append((scale.scale, is_fine))
    return optimizer.target, found, optimizer.state.step
