"""The overrides of a comparison: hyper-parameters that are set at each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.parity.errors import ParityError

_NUMBERS = (int, float, complex, np.generic, np.ndarray, jax.Array)


@dataclass(frozen=True, eq=False)
class Overrides:
    """Values of hyper-parameters by name.

    Args:
      constant: values that are the same at all steps, passed on as they are.
      changing: an array with an entry for each step.
    """

    constant: Mapping[str, Any]
    changing: Mapping[str, np.ndarray[Any, Any]]

    @property
    def values(self) -> dict[str, Any]:
        """The values of both kinds, by name."""
        return {**self.constant, **self.changing}


def overrides(values: Mapping[str, Any] | None, steps: int) -> Overrides:
    """The overrides that the argument of ``compare`` asks for.

    Args:
      values: for each name a number, a function of the step, or an array with one for each step.
      steps: how many there are.

    Raises:
      ParityError: a function fails, or there are not enough values.
    """
    constant: dict[str, Any] = {}
    changing: dict[str, np.ndarray[Any, Any]] = {}
    for name, value in (values or {}).items():
        if callable(value):
            changing[name] = _stacked(name, [_call(name, value, step) for step in range(steps)])
        elif _is_series(value):
            if len(value) < steps:
                raise ParityError(
                    f"overrides[{name!r}] has {len(value)} values for {steps} steps; give one for"
                    " each step, a single number, or a function of the step."
                )
            changing[name] = _stacked(name, list(value[:steps]))
        else:
            constant[name] = value
    return Overrides(constant, changing)


def _is_series(value: Any) -> bool:
    if isinstance(value, np.ndarray | jax.Array):
        return value.ndim > 0
    # A list of the hyper-parameters of a MultiOptimizer's parts is one value.
    return isinstance(value, Sequence) and all(isinstance(each, _NUMBERS) for each in value)


def _call(name: str, function: Any, step: int) -> Any:
    try:
        return function(step)
    except Exception as error:
        raise ParityError(
            f"overrides[{name!r}] failed at step {step}: {type(error).__name__}: {error}"
        ) from error


def _stacked(name: str, values: list[Any]) -> np.ndarray[Any, Any]:
    if not values:
        return np.zeros(0)
    try:
        # As jax types a Python number, not as numpy does.
        return np.asarray(jnp.stack([jnp.asarray(value) for value in values]))
    except (TypeError, ValueError) as error:
        raise ParityError(f"overrides[{name!r}] is not a number at each step: {error}") from error
