"""Optimizers for parts of the parameters, of several dtypes, and one around another."""

import jax
import jax.numpy as jnp

try:
    from flax import optim
except ImportError:
    from flaxoptim_compat import optim


def params():
    half = jnp.asarray([0.5, -0.25], jnp.bfloat16)
    return {"first": {"kernel": jnp.ones((2, 3))}, "frozen": jnp.ones(2), "second": {"bias": half}}


def part(name):
    return optim.ModelParamTraversal(lambda path, _: name in path)


def trained(definition, target):
    optimizer = definition.create(target)
    for _ in range(10):
        grads = jax.tree_util.tree_map(lambda leaf: jnp.cos(leaf), optimizer.target)
        yield optimizer, grads
        optimizer = optimizer.apply_gradient(grads)


def multi():
    first, second = optim.Momentum(0.1), optim.Adam(0.1)
    return trained(optim.MultiOptimizer((part("kernel"), first), (part("bias"), second)), params())


def weight_norm():
    return trained(optim.WeightNorm(optim.Momentum(0.1)), {"kernel": jnp.arange(6.0).reshape(2, 3)})


def listed():
    return trained(optim.Adagrad(0.1), [jnp.ones(3), (), {"b": {}, "a": (jnp.zeros(()), None)}])


def bare():
    return trained(optim.Momentum(0.1), jnp.ones(3))
