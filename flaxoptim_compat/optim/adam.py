"""Adam: ``optax.adamw``.

``m' = beta1 · m + (1 - beta1) · g``, ``v' = beta2 · v + (1 - beta2) · g²``, both divided by
``1 - beta^t``, then ``p' = p - learning_rate · (m̂ / (√v̂ + eps) + weight_decay · p)``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import optax
from flax import struct

from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.on_optax import OptaxFields
from flaxoptim_compat.transforms import weight_decay


@struct.dataclass
class _AdamHyperParams:
    learning_rate: Any
    beta1: Any
    beta2: Any
    eps: Any
    weight_decay: Any


@struct.dataclass
class _AdamParamState:
    grad_ema: Any
    grad_sq_ema: Any


class Adam(OptimizerDef):
    """Adam (Kingma and Ba, 2014, https://arxiv.org/abs/1412.6980), with decoupled weight decay.

    ``p' = p - learning_rate · (m̂ / (√v̂ + eps) + weight_decay · p)``

    Args:
      learning_rate: the step size.
      beta1: decay of the average of gradients.
      beta2: decay of the average of squared gradients.
      eps: added to the root.
      weight_decay: decay of the parameter, scaled by the learning rate; it does not enter the
        averages.
    """

    leaf_by_leaf = True
    param_state_class = _AdamParamState
    optax_fields: ClassVar[OptaxFields] = {
        optax.ScaleByAdamState: {"mu": "grad_ema", "nu": "grad_sq_ema"}
    }

    def __init__(
        self,
        learning_rate: Any = None,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        eps: Any = 1e-8,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(_AdamHyperParams(learning_rate, beta1, beta2, eps, weight_decay))

    def init_param_state(self, param: Any) -> _AdamParamState:
        """Both averages at zero."""
        return _AdamParamState(jnp.zeros_like(param), jnp.zeros_like(param))

    def optax_chain(self, hyper_params: Any) -> optax.GradientTransformation:
        """The same in optax: ``optax.adamw`` in its parts."""
        return optax.chain(
            optax.scale_by_adam(b1=hyper_params.beta1, b2=hyper_params.beta2, eps=hyper_params.eps),
            weight_decay(hyper_params.weight_decay),
            optax.scale_by_learning_rate(hyper_params.learning_rate),
        )

    def chain_text(self, hyper_params: Any) -> str:
        """The same as source text."""
        rate, decay = hyper_params.learning_rate, hyper_params.weight_decay
        moments = f"b1={hyper_params.beta1}, b2={hyper_params.beta2}, eps={hyper_params.eps}"
        if not decay:
            return f"optax.adam({rate}, {moments})"
        return f"optax.adamw({rate}, {moments}, weight_decay={decay})"
