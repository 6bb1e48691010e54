"""AdaBelief: ``optax.adabelief`` with one eps, given twice, and decoupled weight decay."""

from __future__ import annotations

import jax
import optax
from flax import struct

from flaxoptim_compat.bridge.definition import Number
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.formula import DECAY_STAGE, RATE_STAGE, Chain, stage


@struct.dataclass
class _AdaBeliefHyperParams:
    learning_rate: Number | None
    beta1: Number
    beta2: Number
    eps: Number
    weight_decay: Number


@struct.dataclass
class _AdaBeliefParamState:
    grad_ema: jax.Array
    grad_sq_ema: jax.Array


class AdaBelief(OptimizerDef):
    """AdaBelief (Zhuang et al., 2020, https://arxiv.org/abs/2010.07468).

    ``m' = beta1 · m + (1 - beta1) · g``, ``s' = beta2 · s + (1 - beta2) · (g - m')² + eps``, both
    divided by ``1 - beta^t``, then
    ``p' = p - learning_rate · (m̂ / (√ŝ + eps) + weight_decay · p)``.

    Args:
      learning_rate: the step size; None if each step is given one.
      beta1: decay of the average of gradients, at least 0 and less than 1.
      beta2: decay of the average of squared differences, at least 0 and less than 1.
      eps: added to the average of squared differences at each step, and to the root of the average.
      weight_decay: the part of the parameter taken off, times the learning rate; 0 is none.
    """

    formula = Chain(
        _AdaBeliefParamState,
        moments=stage(
            optax.scale_by_belief,
            b1="beta1",
            b2="beta2",
            eps="eps",
            eps_root="eps",
            keeps={optax.ScaleByBeliefState: {"mu": "grad_ema", "nu": "grad_sq_ema"}},
        ),
        decay=DECAY_STAGE,
        rate=RATE_STAGE,
    )

    def __init__(
        self,
        learning_rate: Number | None = None,
        beta1: Number = 0.9,
        beta2: Number = 0.999,
        eps: Number = 1e-16,
        weight_decay: Number = 0.0,
    ) -> None:
        super().__init__(_AdaBeliefHyperParams(learning_rate, beta1, beta2, eps, weight_decay))
