"""Parameters and gradients that the programs share; nothing here is old."""

import jax.numpy as jnp


def parameters():
    return {
        "dense": {"bias": jnp.array([0.1, -0.3]), "kernel": jnp.array([[1.5, 2.25], [-0.5, 0.75]])},
        "scale": jnp.array([0.7, 1.1, -1.3]),
    }


def gradients(params, step=0):
    """Gradients of a bowl, with something that every step changes."""
    return {
        "dense": {
            "bias": params["dense"]["bias"] - 0.5 + 0.01 * step,
            "kernel": 2.0 * params["dense"]["kernel"] + 0.25,
        },
        "scale": 0.3 * params["scale"] - 0.02 * step,
    }


def loss_of(params):
    return jnp.sum(params["dense"]["kernel"] ** 2) + jnp.sum(jnp.abs(params["scale"] - 0.25))
