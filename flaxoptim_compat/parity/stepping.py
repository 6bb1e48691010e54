"""The carry of one side at the start, and its step with the overrides that the side takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from flaxoptim_compat.parity.overrides import Overrides
from flaxoptim_compat.parity.sides import Side


class Stepper:
    """Starts a side, and takes it through steps with the overrides of a run.

    Args:
      side: the side.
      params: the parameters to start from, unless the side brings its own.
      overrides: the hyper-parameters that are set at each step.
    """

    def __init__(self, side: Side, params: Any, overrides: Overrides) -> None:
        self.side = side
        self._overrides = overrides
        own = side.params if side.params is not None else params
        # The carry before the first step.
        self.start = jax.tree.map(jnp.asarray, side.start(jax.tree.map(jnp.asarray, own)))
        # The names of the overrides that the side takes.
        self.names = side.overridable(self.start, overrides.values)

    def inputs_of(self, step: int) -> dict[str, Any]:
        """The inputs of a step besides its gradients, as arrays."""
        changing = self._overrides.changing
        return {"overrides": {name: changing[name][step] for name in changing}}

    def overrides_of(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The overrides that the side takes at a step.

        Args:
          inputs: the result of ``inputs_of`` for the step.
        """
        values = {**self._overrides.constant, **inputs["overrides"]}
        return {name: value for name, value in values.items() if name in self.names}

    def step(self, carry: Any, grads: Any, inputs: Mapping[str, Any]) -> Any:
        """The carry after a step, which jax can trace."""
        return self.side.step(carry, grads, self.overrides_of(inputs))
