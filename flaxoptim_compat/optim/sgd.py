"""Gradient descent: ``optax.sgd``.

``p' = p - learning_rate · g``
"""

from __future__ import annotations

from typing import Any, ClassVar

import optax
from flax import struct

from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.on_optax import OptaxFields


@struct.dataclass
class _GradientDescentHyperParams:
    learning_rate: Any


class GradientDescent(OptimizerDef):
    """Gradient descent.

    ``p' = p - learning_rate · g``

    Args:
      learning_rate: the step size.
    """

    optax_fields: ClassVar[OptaxFields] = {}

    leaf_by_leaf = True

    def __init__(self, learning_rate: Any = None) -> None:
        super().__init__(_GradientDescentHyperParams(learning_rate))

    def init_param_state(self, param: Any) -> tuple[()]:
        """No state."""
        return ()

    def optax_chain(self, hyper_params: Any) -> optax.GradientTransformation:
        """The same in optax."""
        return optax.scale_by_learning_rate(hyper_params.learning_rate)

    def chain_text(self, hyper_params: Any) -> str:
        """The same as source text."""
        return f"optax.sgd({hyper_params.learning_rate})"
