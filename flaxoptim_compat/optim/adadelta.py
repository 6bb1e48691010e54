"""Adadelta: ``optax.scale_by_adadelta``, then decoupled weight decay.

``s' = rho · s + (1 - rho) · g²``, ``d = √(a + eps) / √(s' + eps) · g``,
``a' = rho · a + (1 - rho) · d²``, ``p' = p - learning_rate · (d + weight_decay · p)``.
``optax.adadelta`` puts the weight decay first, which is another algorithm.
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
class _AdadeltaHyperParams:
    learning_rate: Any
    rho: Any
    eps: Any
    weight_decay: Any


@struct.dataclass
class _AdadeltaParamState:
    sq_avg: Any
    acc_delta: Any


class Adadelta(OptimizerDef):
    """Adadelta (Zeiler, 2012, https://arxiv.org/abs/1212.5701).

    ``p' = p - learning_rate · (√(a + eps) / √(s' + eps) · g + weight_decay · p)``, where ``s``
    averages squared gradients and ``a`` squared steps.

    Args:
      learning_rate: the step size.
      rho: decay of both averages.
      eps: added inside both roots.
      weight_decay: decay of the parameter, scaled by the learning rate.
    """

    leaf_by_leaf = True
    param_state_class = _AdadeltaParamState
    optax_fields: ClassVar[OptaxFields] = {
        optax.ScaleByAdaDeltaState: {"e_g": "sq_avg", "e_x": "acc_delta"}
    }

    def __init__(
        self,
        learning_rate: Any = None,
        rho: Any = 0.9,
        eps: Any = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(_AdadeltaHyperParams(learning_rate, rho, eps, weight_decay))

    def init_param_state(self, param: Any) -> _AdadeltaParamState:
        """Both averages at zero."""
        return _AdadeltaParamState(jnp.zeros_like(param), jnp.zeros_like(param))

    def optax_chain(self, hyper_params: Any) -> optax.GradientTransformation:
        """The same in optax."""
        return optax.chain(
            optax.scale_by_adadelta(rho=hyper_params.rho, eps=hyper_params.eps),
            weight_decay(hyper_params.weight_decay),
            optax.scale_by_learning_rate(hyper_params.learning_rate),
        )

    def chain_text(self, hyper_params: Any) -> str:
        """The same as source text."""
        return source_text.chain(
            f"optax.scale_by_adadelta(rho={hyper_params.rho}, eps={hyper_params.eps})",
            source_text.weight_decay(hyper_params.weight_decay),
            f"optax.scale_by_learning_rate({hyper_params.learning_rate})",
        )
