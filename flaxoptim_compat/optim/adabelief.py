"""AdaBelief: ``optax.adabelief`` with one eps, given twice, and decoupled weight decay.

``m' = beta1 · m + (1 - beta1) · g``, ``s' = beta2 · s + (1 - beta2) · (g - m')² + eps``, both
divided by ``1 - beta^t``, then ``p' = p - learning_rate · (m̂ / (√ŝ + eps) + weight_decay · p)``.
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
class _AdaBeliefHyperParams:
    learning_rate: Any
    beta1: Any
    beta2: Any
    eps: Any
    weight_decay: Any


@struct.dataclass
class _AdaBeliefParamState:
    grad_ema: Any
    grad_sq_ema: Any


class AdaBelief(OptimizerDef):
    """AdaBelief (Zhuang et al., 2020, https://arxiv.org/abs/2010.07468).

    ``p' = p - learning_rate · (m̂ / (√ŝ + eps) + weight_decay · p)``, where ``s`` averages the
    squared difference between the gradient and its average ``m``.

    Args:
      learning_rate: the step size.
      beta1: decay of the average of gradients.
      beta2: decay of the average of squared differences.
      eps: added to that average at each step, and to its root.
      weight_decay: decay of the parameter, scaled by the learning rate.
    """

    leaf_by_leaf = True
    param_state_class = _AdaBeliefParamState
    optax_fields: ClassVar[OptaxFields] = {
        optax.ScaleByBeliefState: {"mu": "grad_ema", "nu": "grad_sq_ema"}
    }

    def __init__(
        self,
        learning_rate: Any = None,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        eps: Any = 1e-16,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(_AdaBeliefHyperParams(learning_rate, beta1, beta2, eps, weight_decay))

    def init_param_state(self, param: Any) -> _AdaBeliefParamState:
        """Both averages at zero."""
        return _AdaBeliefParamState(jnp.zeros_like(param), jnp.zeros_like(param))

    def optax_chain(self, hyper_params: Any) -> optax.GradientTransformation:
        """The same in optax, whose two kinds of eps were one in flax."""
        return optax.chain(
            optax.scale_by_belief(
                b1=hyper_params.beta1,
                b2=hyper_params.beta2,
                eps=hyper_params.eps,
                eps_root=hyper_params.eps,
            ),
            weight_decay(hyper_params.weight_decay),
            optax.scale_by_learning_rate(hyper_params.learning_rate),
        )

    def chain_text(self, hyper_params: Any) -> str:
        """The same as source text."""
        rate, eps = hyper_params.learning_rate, hyper_params.eps
        moments = f"b1={hyper_params.beta1}, b2={hyper_params.beta2}, eps={eps}, eps_root={eps}"
        if not hyper_params.weight_decay:
            return f"optax.adabelief({rate}, {moments})"
        return source_text.chain(
            f"optax.scale_by_belief({moments})",
            source_text.weight_decay(hyper_params.weight_decay),
            f"optax.scale_by_learning_rate({rate})",
        )
