"""RMSProp: ``optax.rmsprop`` with ``eps_in_sqrt=False``."""

from __future__ import annotations

from collections.abc import Mapping

import jax
import optax
from flax import struct

from flaxoptim_compat.bridge.definition import Leaf, Number, ParamState, PyTree
from flaxoptim_compat.bridge.trees import zeros_like
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.formula import RATE_STAGE, Chain, stage
from flaxoptim_compat.transforms import scale_by_rms


@struct.dataclass
class _RMSPropHyperParams:
    learning_rate: Number | None
    beta2: Number
    eps: Number
    centered: bool


@struct.dataclass
class _RMSPropParamState:
    v: jax.Array
    mg: jax.Array | None


class RMSProp(OptimizerDef):
    """RMSProp (Hinton, 2012).

    ``v' = beta2 · v + (1 - beta2) · g²``, ``p' = p - learning_rate · g / (√v' + eps)``; centered,
    the square of ``mg' = beta2 · mg + (1 - beta2) · g`` is taken off ``v'`` first.

    Args:
      learning_rate: the step size; None if each step is given one.
      beta2: decay of the average of squared gradients, at least 0 and less than 1.
      eps: added to the root.
      centered: divide by the standard deviation of the gradient rather than its root mean square.
    """

    formula = Chain(
        _RMSPropParamState,
        moments=stage(
            scale_by_rms,
            decay="beta2",
            eps="eps",
            eps_in_sqrt=False,
            bias_correction=False,
            centered="centered",
            keeps={
                optax.ScaleByRmsState: {"nu": "v"},
                optax.ScaleByRStdDevState: {"nu": "v", "mu": "mg"},
            },
        ),
        rate=RATE_STAGE,
    )

    def __init__(
        self,
        learning_rate: Number | None = None,
        beta2: Number = 0.9,
        eps: Number = 1e-8,
        centered: bool = False,
    ) -> None:
        super().__init__(_RMSPropHyperParams(learning_rate, beta2, eps, centered))

    def init_param_state(self, param: Leaf) -> _RMSPropParamState:
        """The state before the first step: averages at zero; None for ``mg`` without centering."""
        mean = zeros_like(param) if self.hyper_params.centered else None
        return _RMSPropParamState(zeros_like(param), mean)

    def upgrade_param_state(self, param: Leaf, entry: PyTree) -> ParamState:
        """The state of one parameter in the layout of Flax 0.5.3.

        Flax up to 0.2.2 had no centering, and therefore no ``mg``.
        """
        if isinstance(entry, Mapping) and set(entry) == {"v"} and not self.hyper_params.centered:
            return {**entry, "mg": None}
        return entry
