"""Momentum: ``optax.sgd(learning_rate, momentum, nesterov)``, after ``add_decayed_weights``.

``g = g + weight_decay · p``, ``m' = beta · m + g``, ``p' = p - learning_rate · m'``; with Nesterov
``p' = p - learning_rate · (g + beta · m')``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import optax
from flax import struct

from flaxoptim_compat.optim import source_text
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.on_optax import OptaxFields
from flaxoptim_compat.transforms import weight_decay


@struct.dataclass
class _MomentumHyperParams:
    learning_rate: Any
    beta: Any
    weight_decay: Any
    nesterov: bool


@struct.dataclass
class _MomentumParamState:
    momentum: Any


class Momentum(OptimizerDef):
    """Gradient descent with momentum.

    ``m' = beta · m + (g + weight_decay · p)``, ``p' = p - learning_rate · m'``

    Args:
      learning_rate: the step size.
      beta: how much of the momentum is kept.
      weight_decay: L2 regularisation, added to the gradient.
      nesterov: look one step ahead along the momentum.
    """

    leaf_by_leaf = True
    param_state_class = _MomentumParamState
    optax_fields: ClassVar[OptaxFields] = {optax.TraceState: {"trace": "momentum"}}

    def __init__(
        self,
        learning_rate: Any = None,
        beta: Any = 0.9,
        weight_decay: Any = 0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(_MomentumHyperParams(learning_rate, beta, weight_decay, nesterov))

    def init_param_state(self, param: Any) -> _MomentumParamState:
        """No momentum."""
        return _MomentumParamState(jnp.zeros_like(param))

    def optax_chain(self, hyper_params: Any) -> optax.GradientTransformation:
        """The same in optax."""
        return optax.chain(
            weight_decay(hyper_params.weight_decay),
            optax.trace(decay=hyper_params.beta, nesterov=hyper_params.nesterov),
            optax.scale_by_learning_rate(hyper_params.learning_rate),
        )

    def chain_text(self, hyper_params: Any) -> str:
        """The same as source text."""
        nesterov = ", nesterov=True" if hyper_params.nesterov else ""
        return source_text.chain(
            source_text.weight_decay(hyper_params.weight_decay),
            f"optax.sgd({hyper_params.learning_rate}, momentum={hyper_params.beta}{nesterov})",
        )
