"""The names of ``flax.optim``, all those it had from Flax 0.2 to 0.5.3."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from flaxoptim_compat.catalogue import MODULES, OPTIMIZERS, PUBLIC

try:
    from flaxoptim_compat.optim.base import ModelParamTraversal as ModelParamTraversal
    from flaxoptim_compat.optim.base import MultiOptimizer as MultiOptimizer
    from flaxoptim_compat.optim.base import Optimizer as Optimizer
    from flaxoptim_compat.optim.base import OptimizerDef as OptimizerDef
    from flaxoptim_compat.optim.base import OptimizerState as OptimizerState
    from flaxoptim_compat.optim.dynamic_scale import DynamicScale as DynamicScale
except (AttributeError, ImportError) as error:
    from flaxoptim_compat.versions.allowed import refuse_old

    refuse_old(error)
    raise

if TYPE_CHECKING:  # who does not run this file cannot read the catalogue either
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

for _row in OPTIMIZERS:
    _module = importlib.import_module(f"{__name__}.{_row.module}")
    globals()[_row.name] = getattr(_module, _row.name)

__all__ = list(PUBLIC)


def __dir__() -> list[str]:
    # What completes a name at a prompt.
    return sorted([*PUBLIC, *MODULES])
