"""LAMB: as ``optax.lamb``, but a parameter that is all zeros has the trust ratio 0.

``u = m̂ / (√v̂ + eps) + weight_decay · p`` as in Adam, ``p' = p - learning_rate · ‖p‖ / ‖u‖ · u``
"""

from __future__ import annotations

from typing import Any

import optax
from flax import struct

from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.formula import DECAY, RATE, Chain, stage
from flaxoptim_compat.transforms import scale_by_lamb_trust_ratio


@struct.dataclass
class _LAMBHyperParams:
    learning_rate: Any
    beta1: Any
    beta2: Any
    weight_decay: Any
    eps: Any


@struct.dataclass
class _LAMBParamState:
    grad_ema: Any
    grad_sq_ema: Any


class LAMB(OptimizerDef):
    """Layerwise adaptive moments (You et al., 2019, https://arxiv.org/abs/1904.00962).

    ``p' = p - learning_rate · ‖p‖ / ‖u‖ · u`` with ``u = m̂ / (√v̂ + eps) + weight_decay · p``

    A parameter that starts as zeros never moves.

    Args:
      learning_rate: the step size relative to the norm of the parameter.
      beta1: decay of the average of gradients.
      beta2: decay of the average of squared gradients.
      weight_decay: decay of the parameter.
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
        decay=DECAY,
        trust=stage(scale_by_lamb_trust_ratio),
        rate=RATE,
    )

    def __init__(
        self,
        learning_rate: Any = None,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        weight_decay: Any = 0,
        eps: Any = 1e-6,
    ) -> None:
        super().__init__(_LAMBHyperParams(learning_rate, beta1, beta2, weight_decay, eps))
