"""Adadelta: ``optax.scale_by_adadelta``, then decay, which ``optax.adadelta`` puts first."""

from __future__ import annotations

import jax
import optax
from flax import struct

from flaxoptim_compat.bridge.definition import Number
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.formula import DECAY_STAGE, RATE_STAGE, Chain, stage


@struct.dataclass
class _AdadeltaHyperParams:
    learning_rate: Number | None
    rho: Number
    eps: Number
    weight_decay: Number


@struct.dataclass
class _AdadeltaParamState:
    sq_avg: jax.Array
    acc_delta: jax.Array


class Adadelta(OptimizerDef):
    """Adadelta (Zeiler, 2012, https://arxiv.org/abs/1212.5701).

    ``s' = rho · s + (1 - rho) · g²``, ``d = √(a + eps) / √(s' + eps) · g``,
    ``a' = rho · a + (1 - rho) · d²``, ``p' = p - learning_rate · (d + weight_decay · p)``.

    Args:
      learning_rate: the step size; None if each step is given one.
      rho: decay of both averages, at least 0 and less than 1.
      eps: added inside both roots.
      weight_decay: the part of the parameter taken off, times the learning rate; 0 is none.
    """

    formula = Chain(
        _AdadeltaParamState,
        moments=stage(
            optax.scale_by_adadelta,
            rho="rho",
            eps="eps",
            keeps={optax.ScaleByAdaDeltaState: {"e_g": "sq_avg", "e_x": "acc_delta"}},
        ),
        decay=DECAY_STAGE,
        rate=RATE_STAGE,
    )

    def __init__(
        self,
        learning_rate: Number | None = None,
        rho: Number = 0.9,
        eps: Number = 1e-6,
        weight_decay: Number = 0.0,
    ) -> None:
        super().__init__(_AdadeltaHyperParams(learning_rate, rho, eps, weight_decay))
