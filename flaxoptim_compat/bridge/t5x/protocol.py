"""What T5X asks of a training state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Flax depends on it, too. The check of Python 3.11 would evaluate the properties of an instance,
# and an InferenceState refuses one of them.
from typing_extensions import Protocol, runtime_checkable

from flaxoptim_compat.bridge.definition import Leaf, PyTree
from flaxoptim_compat.bridge.t5x.variables import EMPTY_DICT


@runtime_checkable
class TrainState(Protocol):
    """Everything that a training loop of T5X does with its state."""

    @property
    def step(self) -> Any:
        """The number of steps done."""

    @property
    def params(self) -> Any:
        """The parameters."""

    @property
    def param_states(self) -> Any:
        """The state that the optimizer keeps for each parameter."""

    @property
    def flax_mutables(self) -> Any:
        """The collections of the model that are no parameters."""

    def state_dict(self) -> PyTree:
        """Everything as nested dicts of arrays, the form that checkpoints hold."""

    def restore_state(self, state_dict: Mapping[str, Any]) -> TrainState:
        """A copy with the values of a state dict."""

    def replace_params(self, params: PyTree) -> TrainState:
        """A copy with other parameters."""

    def replace_flax_mutables(self, flax_mutables: Any) -> TrainState:
        """A copy with other mutable collections."""

    def replace_step(self, step: Leaf) -> TrainState:
        """A copy at another step."""

    def apply_gradient(
        self, grads: PyTree, learning_rate: Any, flax_mutables: Any = EMPTY_DICT
    ) -> TrainState:
        """Do one step."""

    def as_logical_axes(self) -> TrainState:
        """A copy with axis names in place of arrays."""
