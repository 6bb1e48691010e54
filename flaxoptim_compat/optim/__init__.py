"""The names of ``flax.optim``, all those it had from Flax 0.2 to 0.5.3."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from flaxoptim_compat.catalogue import BY_NAME, MODULES, PUBLIC

try:
    from flaxoptim_compat.optim.base import ModelParamTraversal as ModelParamTraversal
    from flaxoptim_compat.optim.base import Optimizer as Optimizer
    from flaxoptim_compat.optim.base import OptimizerDef as OptimizerDef
    from flaxoptim_compat.optim.base import OptimizerState as OptimizerState
    from flaxoptim_compat.optim.dynamic_scale import DynamicScale as DynamicScale
    from flaxoptim_compat.optim.multi_optimizer import MultiOptimizer as MultiOptimizer

    # This module stores its class in OptimizerDef, so base.py must have been imported before.
    from flaxoptim_compat.optim.replicated_optimizer import ReplicatedOptimizer as _  # noqa: F401
except (AttributeError, ImportError) as error:
    from flaxoptim_compat.versions.allowed import refuse_old

    refuse_old(error)
    raise

if TYPE_CHECKING:  # a type checker does not run __getattr__, which reads the catalogue
    from flaxoptim_compat.optim.adabelief import AdaBelief as AdaBelief
    from flaxoptim_compat.optim.adadelta import Adadelta as Adadelta
    from flaxoptim_compat.optim.adafactor import Adafactor as Adafactor
    from flaxoptim_compat.optim.adagrad import Adagrad as Adagrad
    from flaxoptim_compat.optim.adam import Adam as Adam
    from flaxoptim_compat.optim.lamb import LAMB as LAMB
    from flaxoptim_compat.optim.lars import LARS as LARS
    from flaxoptim_compat.optim.momentum import Momentum as Momentum
    from flaxoptim_compat.optim.rmsprop import RMSProp as RMSProp
    from flaxoptim_compat.optim.sgd import GradientDescent as GradientDescent
    from flaxoptim_compat.optim.weight_norm import WeightNorm as WeightNorm

__all__ = list(PUBLIC)


# Most programs use one optimizer or two, and making the classes of all takes as long as the rest.
def __getattr__(name: str) -> Any:
    home = BY_NAME[name].module if name in BY_NAME else name
    if home not in MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    module = importlib.import_module(f"{__name__}.{home}")
    return module if name == home else getattr(module, name)


def __dir__() -> list[str]:
    # A prompt completes names from this list.
    return sorted([*PUBLIC, *MODULES])
