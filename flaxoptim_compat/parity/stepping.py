"""The start of one side, and its step with the overrides that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from flaxoptim_compat.parity.overrides import Overrides
from flaxoptim_compat.parity.sides import Side


class Stepper:
    """A side, and the overrides of a run.

    Args:
      one: the side.
      params: where it starts, unless it brings parameters itself.
      overrides: the hyper-parameters that are set at each step.
    """

    def __init__(self, one: Side, params: Any, overrides: Overrides) -> None:
        self.side = one
        self._overrides = overrides
        own = one.params if one.params is not None else params
        # What it carries before the first step.
        self.start = jax.tree.map(jnp.asarray, one.start(jax.tree.map(jnp.asarray, own)))
        # The overrides that it takes.
        self.names = one.overridable(self.start, overrides.values)

    def given(self, step: int) -> dict[str, Any]:
        """The inputs of a step besides its gradients, as arrays."""
        changing = self._overrides.changing
        inputs: dict[str, Any] = {"overrides": {name: changing[name][step] for name in changing}}
        recording = self.side.recording
        if recording is not None:
            # What it carries after the step.
            inputs["recorded"] = recording.params_after(step), recording.moments_after(step)
        return inputs

    def overrides_of(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The overrides of a step that it takes, out of what ``given`` returned for it."""
        values = {**self._overrides.constant, **given["overrides"]}
        return {name: value for name, value in values.items() if name in self.names}

    def step(self, carry: Any, grads: Any, given: Mapping[str, Any]) -> Any:
        """The carry after a step, which jax can trace."""
        return self.side.step(carry, grads, self.overrides_of(given), given.get("recorded"))
