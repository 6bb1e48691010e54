"""The gradients of a comparison: a function, or a list of trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from flaxoptim_compat.bridge.trees import gradient_leaves
from flaxoptim_compat.parity.errors import ParityError


@dataclass(frozen=True, eq=False)
class Gradients:
    """The source of the gradients of each step.

    Args:
      loop: ``open`` if both sides are given the same, else ``closed``.
      function: ``(params, step) -> gradients``; None if they are known before.
      known: ``step -> the gradients``, if they are known before.
      count: the number of steps whose gradients are known; None for a function.
    """

    loop: str
    function: Callable[[Any, Any], Any] | None = None
    known: Callable[[int], Any] | None = None
    count: int | None = None

    def inputs_of(self, step: int, params: Any) -> dict[str, Any]:
        """The inputs of a step, on top of the parameters."""
        if self.known is None:
            return {}
        try:
            leaves = gradient_leaves(params, self.known(step))
        except ValueError as error:
            raise ParityError(f"The gradients of step {step}: {error}") from error
        return {"grads": list(map(np.asarray, leaves))}

    def of_step(self, first: Any, second: Any, step: Any, inputs: Any) -> tuple[Any, Any]:
        """The gradients for both sides.

        Args:
          first: the parameters of the first side.
          second: the parameters of the second side.
          step: the number of the step, from 0.
          inputs: the result of ``inputs_of`` for the step.
        """
        function = self.function
        of_first = gradient_leaves(first, function(first, step)) if function else inputs["grads"]
        of_second = of_first
        if function and self.loop == "closed":
            of_second = gradient_leaves(second, function(second, step))
        return _tree_like(first, of_first), _tree_like(second, of_second)


def _tree_like(params: Any, leaves: Sequence[Any]) -> Any:
    return jax.tree.unflatten(jax.tree.structure(params), leaves)


def gradients(grads: Any, loop: str | None) -> Gradients:
    """The gradients that the arguments of ``compare`` ask for.

    Raises:
      ParityError: they are of no known kind, or cannot be taken at each side's own parameters.
    """
    if loop not in (None, "open", "closed"):
        raise ParityError(f"loop={loop!r}: give 'open' or 'closed', or leave it out.")
    if callable(grads):
        return Gradients(loop or "closed", function=grads)
    if loop == "closed":
        raise ParityError(
            "loop='closed' takes each side's gradients at its own parameters, which needs a"
            " function (params, step) as grads, not gradients that are there already."
        )
    if isinstance(grads, Sequence) and not isinstance(grads, str):
        return Gradients("open", known=grads.__getitem__, count=len(grads))
    raise ParityError(
        f"grads is of type {type(grads).__name__}; give a function (params, step), or a list with"
        " the gradients of each step."
    )
