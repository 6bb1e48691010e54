"""Gradient descent: ``optax.sgd``."""

from __future__ import annotations

from flax import struct

from flaxoptim_compat.bridge.definition import Number
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.formula import RATE_STAGE, Chain


@struct.dataclass
class _GradientDescentHyperParams:
    learning_rate: Number | None


class GradientDescent(OptimizerDef):
    """Gradient descent.

    ``p' = p - learning_rate · g``

    Args:
      learning_rate: the step size; None if each step is given one.
    """

    formula = Chain(rate=RATE_STAGE)

    def __init__(self, learning_rate: Number | None = None) -> None:
        super().__init__(_GradientDescentHyperParams(learning_rate))
