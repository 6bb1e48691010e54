"""LAMB: as ``optax.lamb``, but a parameter that is all zeros has the trust ratio 0.

``u = m̂ / (√v̂ + eps) + weight_decay · p`` as in Adam, ``p' = p - learning_rate · ‖p‖ / ‖u‖ · u``
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import optax
from flax import struct

from flaxoptim_compat.optim import source_text
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.on_optax import OptaxFields
from flaxoptim_compat.transforms import scale_by_lamb_trust_ratio, weight_decay


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

    leaf_by_leaf = True
    param_state_class = _LAMBParamState
    optax_fields: ClassVar[OptaxFields] = {
        optax.ScaleByAdamState: {"mu": "grad_ema", "nu": "grad_sq_ema"}
    }

    def __init__(
        self,
        learning_rate: Any = None,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        weight_decay: Any = 0,
        eps: Any = 1e-6,
    ) -> None:
        super().__init__(_LAMBHyperParams(learning_rate, beta1, beta2, weight_decay, eps))

    def init_param_state(self, param: Any) -> _LAMBParamState:
        """Both averages at zero."""
        return _LAMBParamState(jnp.zeros_like(param), jnp.zeros_like(param))

    def optax_chain(self, hyper_params: Any) -> optax.GradientTransformation:
        """The same as an optax chain."""
        return optax.chain(
            optax.scale_by_adam(b1=hyper_params.beta1, b2=hyper_params.beta2, eps=hyper_params.eps),
            weight_decay(hyper_params.weight_decay),
            scale_by_lamb_trust_ratio(),
            optax.scale_by_learning_rate(hyper_params.learning_rate),
        )

    def chain_text(self, hyper_params: Any) -> str:
        """The same as source text."""
        moments = f"b1={hyper_params.beta1}, b2={hyper_params.beta2}, eps={hyper_params.eps}"
        return source_text.chain(
            f"optax.scale_by_adam({moments})",
            source_text.weight_decay(hyper_params.weight_decay),
            "transforms.scale_by_lamb_trust_ratio()",
            f"optax.scale_by_learning_rate({hyper_params.learning_rate})",
        )
