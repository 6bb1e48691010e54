"""LAMB: as ``optax.lamb``, but a parameter that is all zeros has the trust ratio 0."""

from __future__ import annotations

import jax
import optax
from flax import struct

from flaxoptim_compat.bridge.definition import Number
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.formula import DECAY_STAGE, RATE_STAGE, Chain, stage
from flaxoptim_compat.transforms import scale_by_lamb_trust_ratio


@struct.dataclass
class _LAMBHyperParams:
    learning_rate: Number | None
    beta1: Number
    beta2: Number
    weight_decay: Number
    eps: Number


@struct.dataclass
class _LAMBParamState:
    grad_ema: jax.Array
    grad_sq_ema: jax.Array


class LAMB(OptimizerDef):
    """Layerwise adaptive moments (You et al., 2019, https://arxiv.org/abs/1904.00962).

    ``p' = p - learning_rate · ‖p‖ / ‖u‖ · u`` with ``u = m̂ / (√v̂ + eps) + weight_decay · p``

    A parameter that starts as zeros never moves.

    Args:
      learning_rate: the step size in parts of the norm of the parameter; None if each step is given
        one.
      beta1: decay of the average of gradients, at least 0 and less than 1.
      beta2: decay of the average of squared gradients, at least 0 and less than 1.
      weight_decay: the part of the parameter added to the update before it is scaled; 0 is none.
      eps: added to the root.
    """

    formula = Chain(
        _LAMBParamState,
        moments=stage(
            optax.scale_by_adam,
            b1="beta1",
            b2="beta2",
            eps="eps",
            eps_root=0.0,
            keeps={optax.ScaleByAdamState: {"mu": "grad_ema", "nu": "grad_sq_ema"}},
        ),
        decay=DECAY_STAGE,
        trust=stage(scale_by_lamb_trust_ratio),
        rate=RATE_STAGE,
    )

    def __init__(
        self,
        learning_rate: Number | None = None,
        beta1: Number = 0.9,
        beta2: Number = 0.999,
        weight_decay: Number = 0,
        eps: Number = 1e-6,
    ) -> None:
        super().__init__(_LAMBHyperParams(learning_rate, beta1, beta2, weight_decay, eps))
