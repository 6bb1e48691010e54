"""flax.optim on today's jax, flax and optax, and a way out of it."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flaxoptim_compat import optim
    from flaxoptim_compat.bridge.step import compiled_steps
    from flaxoptim_compat.optim import (
        LAMB,
        LARS,
        AdaBelief,
        Adadelta,
        Adafactor,
        Adagrad,
        Adam,
        DynamicScale,
        GradientDescent,
        ModelParamTraversal,
        Momentum,
        MultiOptimizer,
        Optimizer,
        OptimizerDef,
        OptimizerState,
        RMSProp,
        WeightNorm,
        adabelief,
        adadelta,
        adafactor,
        adagrad,
        adam,
        base,
        dynamic_scale,
        lamb,
        lars,
        momentum,
        rmsprop,
        sgd,
        weight_norm,
    )

__version__ = "0.1.0"

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
    "adabelief",
    "adadelta",
    "adafactor",
    "adagrad",
    "adam",
    "base",
    "compiled_steps",
    "dynamic_scale",
    "lamb",
    "lars",
    "momentum",
    "optim",
    "rmsprop",
    "sgd",
    "weight_norm",
]


# Importing this package imports no jax: the command line answers at once, and a program may still
# set up jax's environment variables afterwards.
def __getattr__(name: str) -> Any:
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    if name == "optim":
        return importlib.import_module("flaxoptim_compat.optim")
    home = "bridge.step" if name == "compiled_steps" else "optim"
    return getattr(importlib.import_module(f"flaxoptim_compat.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
