"""LARS: as ``optax.lars``, but with the norm of the plain gradient, without the decay.

``rate = learning_rate · trust_coefficient · ‖p‖ / (‖g‖ + weight_decay · ‖p‖ + eps)``,
``m' = beta · m + rate · (g + weight_decay · p)``, ``p' = p - m'``
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import optax
from flax import struct

from flaxoptim_compat.optim import source_text
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.on_optax import OptaxFields
from flaxoptim_compat.transforms import scale_by_lars_rate


@struct.dataclass
class _LARSHyperParams:
    learning_rate: Any
    beta: Any
    weight_decay: Any
    trust_coefficient: Any
    eps: Any
    nesterov: bool


@struct.dataclass
class _LARSParamState:
    momentum: Any


class LARS(OptimizerDef):
    """Layerwise adaptive rate scaling (You et al., 2017, https://arxiv.org/abs/1708.03888).

    ``rate = learning_rate · trust_coefficient · ‖p‖ / (‖g‖ + weight_decay · ‖p‖ + eps)``,
    ``m' = beta · m + rate · (g + weight_decay · p)``, ``p' = p - m'``

    Where the parameter or the gradient is zero, the rate is the learning rate.

    Args:
      learning_rate: the global step size.
      beta: how much of the momentum is kept.
      weight_decay: L2 regularisation, added to the gradient.
      trust_coefficient: how far a layer may move relative to its norm.
      eps: added to the denominator of the rate.
      nesterov: look one step ahead along the momentum.
    """

    leaf_by_leaf = True
    param_state_class = _LARSParamState
    optax_fields: ClassVar[OptaxFields] = {optax.TraceState: {"trace": "momentum"}}

    def __init__(
        self,
        learning_rate: Any = None,
        beta: Any = 0.9,
        weight_decay: Any = 0,
        trust_coefficient: Any = 0.001,
        eps: Any = 0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(
            _LARSHyperParams(learning_rate, beta, weight_decay, trust_coefficient, eps, nesterov)
        )

    def init_param_state(self, param: Any) -> _LARSParamState:
        """No momentum."""
        return _LARSParamState(jnp.zeros_like(param))

    def optax_chain(self, hyper_params: Any) -> optax.GradientTransformation:
        """The same as an optax chain."""
        return optax.chain(
            scale_by_lars_rate(
                hyper_params.learning_rate,
                hyper_params.weight_decay,
                hyper_params.trust_coefficient,
                hyper_params.eps,
            ),
            optax.trace(decay=hyper_params.beta, nesterov=hyper_params.nesterov),
            optax.scale(-1.0),
        )

    def chain_text(self, hyper_params: Any) -> str:
        """The same as source text."""
        rate = (
            f"{hyper_params.learning_rate}, weight_decay={hyper_params.weight_decay},"
            f" trust_coefficient={hyper_params.trust_coefficient}, eps={hyper_params.eps}"
        )
        nesterov = ", nesterov=True" if hyper_params.nesterov else ""
        return source_text.chain(
            f"transforms.scale_by_lars_rate({rate})",
            f"optax.trace(decay={hyper_params.beta}{nesterov})",
            "optax.scale(-1.0)",
        )
