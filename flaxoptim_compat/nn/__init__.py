"""``flax.nn``, the module API that Flax had before Linen, on today's jax.

A module is a class with a method ``apply``, which takes the inputs and all that configures it; a
``Model`` is a module with its parameters.
"""

from __future__ import annotations

from flaxoptim_compat.nn import activation as activation
from flaxoptim_compat.nn import attention as attention
from flaxoptim_compat.nn import base as base
from flaxoptim_compat.nn import base as utils
from flaxoptim_compat.nn import initializers as initializers
from flaxoptim_compat.nn import linear as linear
from flaxoptim_compat.nn import normalization as normalization
from flaxoptim_compat.nn import pooling as pooling
from flaxoptim_compat.nn import recurrent as recurrent
from flaxoptim_compat.nn.activation import celu as celu
from flaxoptim_compat.nn.activation import elu as elu
from flaxoptim_compat.nn.activation import gelu as gelu
from flaxoptim_compat.nn.activation import glu as glu
from flaxoptim_compat.nn.activation import leaky_relu as leaky_relu
from flaxoptim_compat.nn.activation import log_sigmoid as log_sigmoid
from flaxoptim_compat.nn.activation import log_softmax as log_softmax
from flaxoptim_compat.nn.activation import relu as relu
from flaxoptim_compat.nn.activation import sigmoid as sigmoid
from flaxoptim_compat.nn.activation import silu as silu
from flaxoptim_compat.nn.activation import soft_sign as soft_sign
from flaxoptim_compat.nn.activation import softmax as softmax
from flaxoptim_compat.nn.activation import softplus as softplus
from flaxoptim_compat.nn.activation import swish as swish
from flaxoptim_compat.nn.activation import tanh as tanh
from flaxoptim_compat.nn.attention import (
    MultiHeadDotProductAttention as MultiHeadDotProductAttention,
)
from flaxoptim_compat.nn.attention import SelfAttention as SelfAttention
from flaxoptim_compat.nn.attention import dot_product_attention as dot_product_attention
from flaxoptim_compat.nn.base import Collection as Collection
from flaxoptim_compat.nn.base import Model as Model
from flaxoptim_compat.nn.base import Module as Module
from flaxoptim_compat.nn.base import capture_module_outputs as capture_module_outputs
from flaxoptim_compat.nn.base import get_state as get_state
from flaxoptim_compat.nn.base import module as module
from flaxoptim_compat.nn.base import module_method as module_method
from flaxoptim_compat.nn.base import stateful as stateful
from flaxoptim_compat.nn.linear import Conv as Conv
from flaxoptim_compat.nn.linear import ConvTranspose as ConvTranspose
from flaxoptim_compat.nn.linear import Dense as Dense
from flaxoptim_compat.nn.linear import DenseGeneral as DenseGeneral
from flaxoptim_compat.nn.linear import Embed as Embed
from flaxoptim_compat.nn.normalization import BatchNorm as BatchNorm
from flaxoptim_compat.nn.normalization import GroupNorm as GroupNorm
from flaxoptim_compat.nn.normalization import LayerNorm as LayerNorm
from flaxoptim_compat.nn.pooling import avg_pool as avg_pool
from flaxoptim_compat.nn.pooling import max_pool as max_pool
from flaxoptim_compat.nn.recurrent import ConvLSTM as ConvLSTM
from flaxoptim_compat.nn.recurrent import GRUCell as GRUCell
from flaxoptim_compat.nn.recurrent import LSTMCell as LSTMCell
from flaxoptim_compat.nn.recurrent import OptimizedLSTMCell as OptimizedLSTMCell
from flaxoptim_compat.nn.stochasticity import dropout as dropout
from flaxoptim_compat.nn.stochasticity import is_stochastic as is_stochastic
from flaxoptim_compat.nn.stochasticity import make_rng as make_rng
from flaxoptim_compat.nn.stochasticity import stochastic as stochastic

__all__ = [
    "BatchNorm",
    "Collection",
    "Conv",
    "ConvLSTM",
    "ConvTranspose",
    "Dense",
    "DenseGeneral",
    "Embed",
    "GRUCell",
    "GroupNorm",
    "LSTMCell",
    "LayerNorm",
    "Model",
    "Module",
    "MultiHeadDotProductAttention",
    "OptimizedLSTMCell",
    "SelfAttention",
    "activation",
    "attention",
    "avg_pool",
    "base",
    "capture_module_outputs",
    "celu",
    "dot_product_attention",
    "dropout",
    "elu",
    "gelu",
    "get_state",
    "glu",
    "initializers",
    "is_stochastic",
    "leaky_relu",
    "linear",
    "log_sigmoid",
    "log_softmax",
    "make_rng",
    "max_pool",
    "module",
    "module_method",
    "normalization",
    "pooling",
    "recurrent",
    "relu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "stateful",
    "stochastic",
    "swish",
    "tanh",
    "utils",
]
