"""The names of ``flax.optim``, all those it had from Flax 0.2 to 0.5.3."""

from __future__ import annotations

from flaxoptim_compat.optim.adabelief import AdaBelief
from flaxoptim_compat.optim.adadelta import Adadelta
from flaxoptim_compat.optim.adafactor import Adafactor
from flaxoptim_compat.optim.adagrad import Adagrad
from flaxoptim_compat.optim.adam import Adam
from flaxoptim_compat.optim.base import (
    ModelParamTraversal,
    MultiOptimizer,
    Optimizer,
    OptimizerDef,
    OptimizerState,
)
from flaxoptim_compat.optim.dynamic_scale import DynamicScale
from flaxoptim_compat.optim.lamb import LAMB
from flaxoptim_compat.optim.lars import LARS
from flaxoptim_compat.optim.momentum import Momentum
from flaxoptim_compat.optim.rmsprop import RMSProp
from flaxoptim_compat.optim.sgd import GradientDescent
from flaxoptim_compat.optim.weight_norm import WeightNorm

__all__ = [
    "LAMB",
    "LARS",
    "AdaBelief",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "DynamicScale",
    "GradientDescent",
    "ModelParamTraversal",
    "Momentum",
    "MultiOptimizer",
    "Optimizer",
    "OptimizerDef",
    "OptimizerState",
    "RMSProp",
    "WeightNorm",
]
