"""How one side starts, and does a step with the overrides that it takes, whoever drives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from flaxoptim_compat.parity.overrides import Overrides
from flaxoptim_compat.parity.sides import Side, recorded_step


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
        """What a step has to be given besides its gradients, as arrays."""
        found = {"overrides": self._overrides.given(step)}
        if self.side.recording is not None:
            found["recorded"] = recorded_step(self.side.recording, step)
        return found

    def overrides_of(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The overrides of a step, out of what ``given`` returned for it."""
        return self._overrides.of_step(given["overrides"], self.names)

    def step(self, carry: Any, grads: Any, given: Mapping[str, Any]) -> Any:
        """What is carried after a step, which jax can trace."""
        return self.side.step(carry, grads, self.overrides_of(given), given.get("recorded"))
