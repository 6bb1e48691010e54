"""What the constructors of flax.optim take, and what they take it for if it is not given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

REQUIRED: Final = ...

# The default of dtype_momentum is jnp.float32, which this file must do without.
SIGNATURES: Final[Mapping[str, Mapping[str, Any]]] = {
    "AdaBelief": {
        "learning_rate": None,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-16,
        "weight_decay": 0.0,
    },
    "Adadelta": {"learning_rate": None, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.0},
    "Adafactor": {
        "learning_rate": None,
        "factored": True,
        "multiply_by_parameter_scale": True,
        "beta1": None,
        "decay_rate": 0.8,
        "step_offset": 0,
        "clipping_threshold": 1.0,
        "weight_decay_rate": None,
        "min_dim_size_to_factor": 128,
        "epsilon1": 1e-30,
        "epsilon2": 1e-3,
        "dtype_momentum": "float32",
    },
    "Adagrad": {"learning_rate": None, "eps": 1e-8},
    "Adam": {
        "learning_rate": None,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-8,
        "weight_decay": 0.0,
    },
    "GradientDescent": {"learning_rate": None},
    "LAMB": {
        "learning_rate": None,
        "beta1": 0.9,
        "beta2": 0.999,
        "weight_decay": 0,
        "eps": 1e-6,
    },
    "LARS": {
        "learning_rate": None,
        "beta": 0.9,
        "weight_decay": 0,
        "trust_coefficient": 0.001,
        "eps": 0,
        "nesterov": False,
    },
    "Momentum": {"learning_rate": None, "beta": 0.9, "weight_decay": 0, "nesterov": False},
    "RMSProp": {"learning_rate": None, "beta2": 0.9, "eps": 1e-8, "centered": False},
    "WeightNorm": {"wrapped_optimizer": REQUIRED, "wn_decay": 0, "wn_eps": 1e-8},
}

RATE: Final = "learning_rate"
WRAPPED: Final = "wrapped_optimizer"
DTYPE: Final = "dtype_momentum"
# True or False; the chain may look otherwise with the one than with the other.
FLAGS: Final = frozenset({"centered", "factored", "multiply_by_parameter_scale", "nesterov"})
# Flags that optax takes as they are, so that their value need not be known.
HANDED_ON: Final = frozenset({"centered", "factored", "nesterov"})
# What may be None, and then has no link in the chain; of Adafactor only.
OPTIONAL: Final = frozenset({"beta1", "clipping_threshold", "weight_decay_rate"})
