"""LARS: as ``optax.lars``, but with the norm of the plain gradient, without the decay."""

from __future__ import annotations

import jax
import optax
from flax import struct

from flaxoptim_compat.bridge.definition import Number
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.formula import DESCENT_STAGE, Chain, stage
from flaxoptim_compat.transforms import scale_by_lars_rate


@struct.dataclass
class _LARSHyperParams:
    learning_rate: Number | None
    beta: Number
    weight_decay: Number
    trust_coefficient: Number
    eps: Number
    nesterov: bool


@struct.dataclass
class _LARSParamState:
    momentum: jax.Array


class LARS(OptimizerDef):
    """Layerwise adaptive rate scaling (You et al., 2017, https://arxiv.org/abs/1708.03888).

    ``rate = learning_rate · trust_coefficient · ‖p‖ / (‖g‖ + weight_decay · ‖p‖ + eps)``,
    ``m' = beta · m + rate · (g + weight_decay · p)``, ``p' = p - m'``

    Where the parameter or the gradient is zero, the rate is the learning rate.

    Args:
      learning_rate: the global step size; None if each step is given one.
      beta: how much of the momentum is kept, at least 0 and less than 1.
      weight_decay: L2 regularisation, this part of the parameter added to the gradient; 0 is none.
      trust_coefficient: how far a layer may move relative to its norm.
      eps: added to the denominator of the rate; 0 or a small number.
      nesterov: look one step ahead along the momentum.
    """

    formula = Chain(
        _LARSParamState,
        layer_rate=stage(
            scale_by_lars_rate,
            "learning_rate",
            weight_decay="weight_decay",
            trust_coefficient="trust_coefficient",
            eps="eps",
        ),
        momentum=stage(
            optax.trace,
            decay="beta",
            nesterov="nesterov",
            keeps={optax.TraceState: {"trace": "momentum"}},
        ),
        descent=DESCENT_STAGE,
    )

    def __init__(
        self,
        learning_rate: Number | None = None,
        beta: Number = 0.9,
        weight_decay: Number = 0,
        trust_coefficient: Number = 0.001,
        eps: Number = 0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(
            _LARSHyperParams(learning_rate, beta, weight_decay, trust_coefficient, eps, nesterov)
        )
