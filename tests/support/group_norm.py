"""Parameters like those of a model with GroupNorm, of Linen until Flax 0.3.5 and since."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from flaxoptim_compat import optim

_NORMS = optim.ModelParamTraversal(lambda path, _: "Norm" in path)
DEFINITIONS: dict[str, Any] = {
    "GradientDescent": optim.GradientDescent(0.1),
    "Momentum": optim.Momentum(0.1),
    "Adam": optim.Adam(0.1, weight_decay=0.1),
    "AdaBelief": optim.AdaBelief(0.1),
    "LAMB": optim.LAMB(0.1),
    "LARS": optim.LARS(0.1),
    "RMSProp": optim.RMSProp(0.1, centered=True),
    "Adagrad": optim.Adagrad(0.1),
    "Adadelta": optim.Adadelta(0.1),
    "Adafactor": optim.Adafactor(0.1),
    "Adafactor with momentum": optim.Adafactor(0.1, beta1=0.9, min_dim_size_to_factor=2),
    "WeightNorm": optim.WeightNorm(optim.Adam(0.1)),
    "WeightNorm of Adafactor": optim.WeightNorm(optim.Adafactor(0.1, min_dim_size_to_factor=2)),
    "MultiOptimizer": optim.MultiOptimizer((_NORMS, optim.Adam(0.1))),
}


def parameters(axes: int) -> dict[str, Any]:
    """Parameters with so many axes of size one in GroupNorm, and in a layer of a program's own."""
    ones = (1,) * axes
    return {
        "Dense_0": {"kernel": jnp.arange(32.0).reshape(8, 4), "bias": jnp.ones(4)},
        "GroupNorm_0": {
            "scale": jnp.arange(8.0).reshape(*ones, 8),
            "bias": jnp.ones((*ones, 8)),
        },
        "own": {"kernel": jnp.arange(24.0).reshape(*ones, 6, 4)},
    }


def trained(definition: Any, axes: int) -> Any:
    """An optimizer of these after three steps."""
    optimizer = definition.create(parameters(axes))
    for _ in range(3):
        optimizer = optimizer.apply_gradient(jax.tree.map(jnp.sin, optimizer.target))
    return optimizer


def reshaped(optimizer: Any, like: Any) -> Any:
    """The same values in other shapes."""
    return jax.tree.map(lambda value, other: value.reshape(other.shape), optimizer, like)
