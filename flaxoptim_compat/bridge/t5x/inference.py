"""T5X's state for inference: what is left of a training state without an optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, Self

import jax.numpy as jnp
from flax import core, struct

from flaxoptim_compat.bridge.definition import Leaf, PyTree
from flaxoptim_compat.bridge.t5x import variables
from flaxoptim_compat.bridge.t5x.variables import EMPTY_DICT


class InferenceState(struct.PyTreeNode):
    """Parameters and the other collections of a model, restored from a training state's dict.

    Args:
      step: the number of steps done.
      params: the parameters.
      params_axes: the axes of the parameters, as the model gave them, or None.
      flax_mutables: the other collections.
      flax_mutables_axes: the axes of those that have any, or None.
    """

    step: Leaf
    params: PyTree
    params_axes: Any = None
    flax_mutables: Any = EMPTY_DICT
    flax_mutables_axes: Any = None

    @classmethod
    def create(cls, model_variables: Any) -> Self:
        """The state at step 0.

        Args:
          model_variables: what the initialization of a model returns.

        Raises:
          KeyError: there are no parameters, or there are axes of a collection that is not there.
          ValueError: there are axes, but not of all variables.
        """
        return cls(jnp.array(0), *variables.split(model_variables))

    @property
    def param_states(self) -> NoReturn:
        """There are none.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError("InferenceState has no optimizer states.")

    def apply_gradient(self, *args: Any, **kwargs: Any) -> NoReturn:
        """There is no optimizer to do a step.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError("InferenceState does not support `apply_gradient`.")

    def state_dict(self) -> dict[str, Any]:
        """The entries ``target``, ``state`` and, if there are any, ``flax_mutables``."""
        return {
            "target": core.unfreeze(self.params),
            "state": {"step": self.step},
            **variables.unfrozen_entry(self.flax_mutables),
        }

    def restore_state(self, state_dict: Mapping[str, Any]) -> Self:
        """A copy with the values of a state dict; those of an optimizer are passed over."""
        return self.replace(
            params=core.freeze(state_dict["target"]),
            step=state_dict["state"]["step"],
            flax_mutables=variables.frozen_entry(state_dict),
        )

    def replace_params(self, params: PyTree) -> Self:
        """A copy with other parameters."""
        return self.replace(params=params)

    def replace_flax_mutables(self, flax_mutables: Any) -> Self:
        """A copy with other mutable collections."""
        return self.replace(flax_mutables=flax_mutables)

    def replace_step(self, step: Leaf) -> Self:
        """A copy at another step."""
        return self.replace(step=step)

    def as_logical_axes(self) -> Self:
        """A copy with a PartitionSpec of axis names in place of every array, and no step."""
        return type(self)(
            step=None,
            params=variables.axis_names(self.params_axes),
            flax_mutables=variables.axis_names(self.flax_mutables_axes or EMPTY_DICT),
        )
