"""Momentum: ``optax.sgd(learning_rate, momentum, nesterov)``, after ``add_decayed_weights``."""

from __future__ import annotations

import jax
import optax
from flax import struct

from flaxoptim_compat.bridge.definition import Number
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.formula import DECAY_STAGE, RATE_STAGE, Chain, stage


@struct.dataclass
class _MomentumHyperParams:
    learning_rate: Number | None
    beta: Number
    weight_decay: Number
    nesterov: bool


@struct.dataclass
class _MomentumParamState:
    momentum: jax.Array


class Momentum(OptimizerDef):
    """Gradient descent with momentum.

    ``m' = beta · m + (g + weight_decay · p)``, ``p' = p - learning_rate · m'``; with Nesterov
    ``p' = p - learning_rate · (g + weight_decay · p + beta · m')``.

    Args:
      learning_rate: the step size; None if each step is given one.
      beta: how much of the momentum is kept, at least 0 and less than 1.
      weight_decay: L2 regularisation, this part of the parameter added to the gradient; 0 is none.
      nesterov: look one step ahead along the momentum.
    """

    formula = Chain(
        _MomentumParamState,
        decay=DECAY_STAGE,
        momentum=stage(
            optax.trace,
            decay="beta",
            nesterov="nesterov",
            keeps={optax.TraceState: {"trace": "momentum"}},
        ),
        rate=RATE_STAGE,
    )

    def __init__(
        self,
        learning_rate: Number | None = None,
        beta: Number = 0.9,
        weight_decay: Number = 0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(_MomentumHyperParams(learning_rate, beta, weight_decay, nesterov))
