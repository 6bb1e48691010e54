"""Stands in for ``flax.nn``, which flax 0.4.0 dropped: what Linen still has, and where to go.

The activations, the initializers and the poolings are Linen's, which are the same functions. For
every other name there is an error that says what Linen has for it.
"""

from __future__ import annotations

from typing import Any

from flax.linen import (
    activation,
    avg_pool,
    celu,
    elu,
    gelu,
    glu,
    initializers,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    max_pool,
    pooling,
    relu,
    sigmoid,
    silu,
    soft_sign,
    softmax,
    softplus,
    swish,
    tanh,
)

from flaxoptim_compat.legacy.stand_ins import flax_nn_parts
from flaxoptim_compat.legacy.stand_ins.flax_nn_removed import REMOVED_FROM_PACKAGE, refuse

__all__ = [
    "activation",
    "avg_pool",
    "celu",
    "elu",
    "gelu",
    "glu",
    "initializers",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "max_pool",
    "pooling",
    "relu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "swish",
    "tanh",
]

attention = base = linear = normalization = recurrent = utils = flax_nn_parts

# The import of a name that is missing raises an ImportError with the text that is here: Python
# would replace that of the AttributeError by its own. `stochastic` was a function and a module.
REMOVED = REMOVED_FROM_PACKAGE


def __getattr__(name: str) -> Any:
    refuse(name, "flax.nn", REMOVED)
