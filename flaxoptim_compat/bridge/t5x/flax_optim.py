"""T5X's training state around an optimizer of ``flax.optim``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from flax import struct

from flaxoptim_compat.bridge.definition import Leaf, PyTree
from flaxoptim_compat.bridge.t5x import variables
from flaxoptim_compat.bridge.t5x.variables import EMPTY_DICT


class FlaxOptimTrainState(struct.PyTreeNode):
    """Parameters, their optimizer and the other collections of a model, as one immutable pytree.

    Args:
      _optimizer: the optimizer; its target are the parameters.
      params_axes: the axes of the parameters, as the model gave them, or None.
      flax_mutables: the other collections.
      flax_mutables_axes: the axes of those that have any, or None.
    """

    _optimizer: Any
    params_axes: Any = None
    flax_mutables: Any = EMPTY_DICT
    flax_mutables_axes: Any = None

    @classmethod
    def create(cls, optimizer_def: Any, model_variables: Any) -> Self:
        """The state before the first step.

        Args:
          optimizer_def: a definition. One with a method ``set_param_axes`` is told the axis names
            of the parameters first, and must not be shared with another model.
          model_variables: what the initialization of a model returns: ``params``, perhaps
            ``params_axes``, and other collections, each perhaps with its own axes.

        Raises:
          KeyError: there are no parameters, or there are axes of a collection that is not there.
          ValueError: there are axes, but not of all variables; or the definition wants them, and
            there are none.
        """
        model = variables.split(model_variables)
        if hasattr(optimizer_def, "set_param_axes"):
            if model.params_axes is None:
                raise ValueError(
                    "The optimizer supports params_axes for model-based partitioning, but the"
                    " model is not emitting them."
                )
            optimizer_def.set_param_axes(variables.axis_names(model.params_axes))
        return cls(
            optimizer_def.create(model.params),
            params_axes=model.params_axes,
            flax_mutables=model.flax_mutables,
            flax_mutables_axes=model.flax_mutables_axes,
        )

    @property
    def step(self) -> Any:
        """The number of steps done."""
        return self._optimizer.state.step

    @property
    def params(self) -> Any:
        """The parameters."""
        return self._optimizer.target

    @property
    def param_states(self) -> Any:
        """The state that the optimizer keeps for each parameter."""
        return self._optimizer.state.param_states

    def state_dict(self) -> dict[str, Any]:
        """The entries ``target``, ``state`` and, if there are any, ``flax_mutables``."""
        entries: dict[str, Any] = self._optimizer.state_dict()
        return {**entries, **variables.unfrozen_entry(self.flax_mutables)}

    def restore_state(self, state_dict: Mapping[str, Any]) -> Self:
        """A copy with the values of a state dict, of T5X or of this package, of any layout.

        Raises:
          ValueError: an entry is missing, unexpected or of another shape; the message names it.
        """
        return self.replace(
            _optimizer=self._optimizer.restore_state(state_dict),
            flax_mutables=variables.frozen_entry(state_dict),
        )

    def apply_gradient(
        self, grads: PyTree, learning_rate: Any, flax_mutables: Any = EMPTY_DICT
    ) -> Self:
        """Do one step.

        Args:
          grads: a tree like the parameters.
          learning_rate: that of this step.
          flax_mutables: the collections after the step. The old ones are not kept.
        """
        optimizer = self._optimizer.apply_gradient(grads, learning_rate=learning_rate)
        return self.replace(_optimizer=optimizer, flax_mutables=flax_mutables)

    def replace_params(self, params: PyTree) -> Self:
        """A copy with other parameters."""
        return self.replace(_optimizer=self._optimizer.replace(target=params))

    def replace_flax_mutables(self, flax_mutables: Any) -> Self:
        """A copy with other mutable collections."""
        return self.replace(flax_mutables=flax_mutables)

    def replace_step(self, step: Leaf) -> Self:
        """A copy at another step."""
        state_dict = self.state_dict()
        state_dict["state"]["step"] = step
        return self.restore_state(state_dict)

    def as_logical_axes(self) -> Self:
        """A copy with a PartitionSpec of axis names, or None, in place of every array.

        Raises:
          ValueError: the definition does not say which axes its state has. ``with_logical_axes``
            makes one that does.
        """
        definition = self._optimizer.optimizer_def
        if not hasattr(definition, "derive_logical_axes"):
            raise ValueError(
                f"Optimizer '{type(definition).__name__}' requires a `derive_logical_axes` method"
                " to be used with named axis partitioning."
            )
        return type(self)(
            definition.derive_logical_axes(self._optimizer, variables.axis_names(self.params_axes)),
            flax_mutables=variables.axis_names(self.flax_mutables_axes or EMPTY_DICT),
            flax_mutables_axes=self.flax_mutables_axes,
        )
