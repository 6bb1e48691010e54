"""Adagrad: as ``optax.adagrad``, but starting from 0 and with eps outside the root."""

from __future__ import annotations

import jax
import optax
from flax import struct

from flaxoptim_compat.bridge.definition import Number
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.formula import DESCENT_STAGE, Chain, stage
from flaxoptim_compat.transforms import scale_by_sum_of_squares


@struct.dataclass
class _AdagradHyperParams:
    learning_rate: Number | None
    eps: Number


@struct.dataclass
class _AdagradParamState:
    G: jax.Array


class Adagrad(OptimizerDef):
    """Adagrad (Duchi et al., 2011).

    ``G' = G + g²``, ``p' = p - learning_rate · g / (√G' + eps)``

    Args:
      learning_rate: the step size; None if each step is given one.
      eps: added to the root.
    """

    formula = Chain(
        _AdagradParamState,
        moments=stage(
            scale_by_sum_of_squares,
            "learning_rate",
            eps="eps",
            keeps={optax.ScaleByRssState: {"sum_of_squares": "G"}},
        ),
        descent=DESCENT_STAGE,
    )

    def __init__(self, learning_rate: Number | None = None, eps: Number = 1e-8) -> None:
        super().__init__(_AdagradHyperParams(learning_rate, eps))
