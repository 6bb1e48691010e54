"""``flax.optim``, ``flax.nn``, ``flax.deprecated``, and lost names of single modules of Flax."""

from __future__ import annotations

from flaxoptim_compat.catalogue import MODULES
from flaxoptim_compat.legacy.entry import LegacyName
from flaxoptim_compat.legacy.names.table import entries

OPTIM = tuple(
    LegacyName(f"flax.{name}", f"flaxoptim_compat.{name}", "flax 0.6.0")
    for name in ("optim", *(f"optim.{module}" for module in MODULES))
)
ENTRIES = entries(
    """
# Flax 0.3.6 still had flax.nn, as flax.deprecated.nn and for `from flax import nn`.
flax flax.deprecated
  0.4.0 nn nn -> flax.linen
flax.nn flax.deprecated.nn
  0.4.0 nn.activation activation -> flax.linen.activation
  0.4.0 nn.attention attention -> flax.linen.attention
  0.4.0 nn.base base utils -> flax.linen
  0.4.0 nn.initializers initializers -> flax.linen.initializers
  0.4.0 nn.linear linear -> flax.linen.linear
  0.4.0 nn.normalization normalization -> flax.linen.normalization
  0.4.0 nn.pooling pooling -> flax.linen.pooling
  0.4.0 nn.recurrent recurrent -> flax.linen.recurrent
  0.4.0 nn.stochasticity stochastic -> flax.linen
flax.linen flax.linen.recurrent
  0.6.4 ~flax_names: ConvLSTM -> flax.linen.ConvLSTMCell, whose initialize_carry takes the
      shape of the input
flax.linen.recurrent
  0.6.5 jax.nn.initializers: orthogonal zeros
  0.8.1 flax.typing: Shape
# Names that modules of Linen had imported for themselves, and that programs took from there.
flax.linen.attention
  0.6.5 jax.nn.initializers: zeros
flax.linen.linear
  0.6.5 jax.nn.initializers: lecun_normal variance_scaling zeros
flax.linen.dtypes flax.linen.module
  0.8.1 flax.typing: Array
flax.core.scope
  0.7.5 jax: jax_config=config
flax.jax_utils
  0.6.6 jax: config
flax.training.checkpoints
  0.6.7 era.global_device_array: GlobalDeviceArray -> jax.Array
flax.core.lift
  0.6.0 ~flax_names: named_call -> jax.named_call
flax
  0.6.4 ~flax_config config -> the object flax.config
  0.4.0 era.flax_deprecated deprecated -> flax.linen
"""
)
