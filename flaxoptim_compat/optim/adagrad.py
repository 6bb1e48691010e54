"""Adagrad: as ``optax.adagrad``, but starting from 0 and with eps outside the root.

``G' = G + g²``, ``p' = p - learning_rate · g / (√G' + eps)``
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import optax
from flax import struct

from flaxoptim_compat.optim import source_text
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.on_optax import OptaxFields
from flaxoptim_compat.transforms import scale_by_sum_of_squares


@struct.dataclass
class _AdagradHyperParams:
    learning_rate: Any
    eps: Any


@struct.dataclass
class _AdagradParamState:
    G: Any


class Adagrad(OptimizerDef):
    """Adagrad (Duchi et al., 2011).

    ``G' = G + g²``, ``p' = p - learning_rate · g / (√G' + eps)``

    Args:
      learning_rate: the step size.
      eps: added to the root.
    """

    leaf_by_leaf = True
    param_state_class = _AdagradParamState
    optax_fields: ClassVar[OptaxFields] = {optax.ScaleByRssState: {"sum_of_squares": "G"}}

    def __init__(self, learning_rate: Any = None, eps: Any = 1e-8) -> None:
        super().__init__(_AdagradHyperParams(learning_rate, eps))

    def init_param_state(self, param: Any) -> _AdagradParamState:
        """The sum at zero."""
        return _AdagradParamState(jnp.zeros_like(param))

    def optax_chain(self, hyper_params: Any) -> optax.GradientTransformation:
        """The same as an optax chain."""
        return optax.chain(
            scale_by_sum_of_squares(hyper_params.learning_rate, hyper_params.eps),
            optax.scale(-1.0),
        )

    def chain_text(self, hyper_params: Any) -> str:
        """The same as source text."""
        rate, eps = hyper_params.learning_rate, hyper_params.eps
        scaled = f"transforms.scale_by_sum_of_squares({rate}, eps={eps})"
        return source_text.chain(scaled, "optax.scale(-1.0)")
