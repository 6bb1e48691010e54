"""Gradient transformations with flax.optim's arithmetic, and labels, where optax has none."""

from __future__ import annotations

from flaxoptim_compat.transforms.adafactor import in_float32, scale_by_rate_and_parameter_rms
from flaxoptim_compat.transforms.adagrad import scale_by_sum_of_squares
from flaxoptim_compat.transforms.hold import hold
from flaxoptim_compat.transforms.keep_dtypes import keep_dtypes
from flaxoptim_compat.transforms.labels import labels
from flaxoptim_compat.transforms.lamb import scale_by_lamb_trust_ratio
from flaxoptim_compat.transforms.lars import scale_by_lars_rate
from flaxoptim_compat.transforms.rms import scale_by_rms
from flaxoptim_compat.transforms.weight_norm import WeightNormState, weight_norm

__all__ = [
    "WeightNormState",
    "hold",
    "in_float32",
    "keep_dtypes",
    "labels",
    "scale_by_lamb_trust_ratio",
    "scale_by_lars_rate",
    "scale_by_rate_and_parameter_rms",
    "scale_by_rms",
    "scale_by_sum_of_squares",
    "weight_norm",
]
