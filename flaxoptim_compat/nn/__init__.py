"""``flax.nn``, the module API that Flax had before Linen, on today's jax.

A module is a class with a method ``apply``, which takes the inputs and all settings of the module.
A ``Model`` is a module with its parameters.
"""

from __future__ import annotations

from flaxoptim_compat.nn import (
    activation,
    attention,
    base,
    initializers,
    linear,
    normalization,
    pooling,
    recurrent,
)
from flaxoptim_compat.nn import base as utils
from flaxoptim_compat.nn.activation import (
    celu,
    elu,
    gelu,
    glu,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    relu,
    sigmoid,
    silu,
    soft_sign,
    softmax,
    softplus,
    swish,
    tanh,
)
from flaxoptim_compat.nn.attention import (
    MultiHeadDotProductAttention,
    SelfAttention,
    dot_product_attention,
)
from flaxoptim_compat.nn.base import (
    Collection,
    Model,
    Module,
    capture_module_outputs,
    get_state,
    module,
    module_method,
    stateful,
)
from flaxoptim_compat.nn.linear import Conv, ConvTranspose, Dense, DenseGeneral, Embed
from flaxoptim_compat.nn.normalization import BatchNorm, GroupNorm, LayerNorm
from flaxoptim_compat.nn.pooling import avg_pool, max_pool
from flaxoptim_compat.nn.recurrent import ConvLSTM, GRUCell, LSTMCell, OptimizedLSTMCell
from flaxoptim_compat.nn.stochasticity import dropout, is_stochastic, make_rng, stochastic

# fmt: off
__all__ = [
    "BatchNorm", "Collection", "Conv", "ConvLSTM", "ConvTranspose", "Dense", "DenseGeneral",
    "Embed", "GRUCell", "GroupNorm", "LSTMCell", "LayerNorm", "Model", "Module",
    "MultiHeadDotProductAttention", "OptimizedLSTMCell", "SelfAttention", "activation",
    "attention", "avg_pool", "base", "capture_module_outputs", "celu", "dot_product_attention",
    "dropout", "elu", "gelu", "get_state", "glu", "initializers", "is_stochastic", "leaky_relu",
    "linear", "log_sigmoid", "log_softmax", "make_rng", "max_pool", "module", "module_method",
    "normalization", "pooling", "recurrent", "relu", "sigmoid", "silu", "soft_sign", "softmax",
    "softplus", "stateful", "stochastic", "swish", "tanh", "utils",
]
# fmt: on
