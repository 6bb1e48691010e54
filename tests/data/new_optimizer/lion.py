"""An optimizer that flax.optim never had."""

from typing import Any

import optax
from flax import struct

from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.formula import DECAY_STAGE, RATE_STAGE, Chain, stage


@struct.dataclass
class _LionHyperParams:
    learning_rate: Any
    beta1: Any
    beta2: Any
    weight_decay: Any


@struct.dataclass
class _LionParamState:
    grad_ema: Any


class Lion(OptimizerDef):
    formula = Chain(
        _LionParamState,
        moments=stage(
            optax.scale_by_lion,
            b1="beta1",
            b2="beta2",
            keeps={optax.ScaleByLionState: {"mu": "grad_ema"}},
        ),
        decay=DECAY_STAGE,
        rate=RATE_STAGE,
    )

    def __init__(self, learning_rate=None, beta1=0.9, beta2=0.99, weight_decay=0.0):
        super().__init__(_LionHyperParams(learning_rate, beta1, beta2, weight_decay))
