"""A race of many candidates beside one side: a candidate that is too far from it drops out.

The candidates are not compiled: most of them drop out within a step or two, and to compile each
would take a hundred times as long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.bridge.compiled import compiled_steps
from flaxoptim_compat.parity.causes.context import LARGE, Context, Subset, size_of
from flaxoptim_compat.parity.findings import ratio
from flaxoptim_compat.parity.measuring import DISTANCE, ERROR, LARGEST, measured
from flaxoptim_compat.parity.sides import side
from flaxoptim_compat.parity.stepping import Stepper
from flaxoptim_compat.parity.tolerance import Tolerance

Key = TypeVar("Key")
Arrays = Sequence[np.ndarray[Any, Any]]

# So much more than the tolerance passes here: op by op, sums are rounded in another order than in
# the compiled run, which decides in the end.
LOOSER = 4.0
# The tolerance for moments in half precision: op by op, every product is rounded as well.
_SLIGHT = Tolerance(2.0**-5, roundings=0.0)
# The step by which a mistake that makes a difference mostly shows.
_SHOWN = 4

_measured = jax.jit(measured)


class _Runner:
    """Takes one side through steps, with given gradients."""

    def __init__(self, subject: Any, params: Any, context: Context) -> None:
        self._stepper = Stepper(side(subject), params, context.overrides)
        # A copy: the user's step may donate what it is given.
        self._carry = jax.tree.map(jnp.array, self._stepper.start)
        compiled = size_of(params) > LARGE
        self._step = jax.jit(self._stepper.step) if compiled else self._stepper.step

    @property
    def params(self) -> Any:
        """The parameters after the latest step."""
        return self._stepper.side.params_of(self._carry)

    def advance(self, step: int, grads: Any) -> None:
        """Do a step."""
        grads = jax.tree.unflatten(jax.tree.structure(self.params), jax.tree.leaves(grads))
        with compiled_steps(False):
            self._carry = self._step(self._carry, grads, self._stepper.inputs_of(step))


def fits(
    candidates: Mapping[Key, tuple[Any, bool]],
    plain: Any,
    other: Any,
    context: Context,
    subset: Subset,
) -> tuple[dict[Key, float], set[Key]]:
    """The candidates that keep up with the other side, and the candidates that make a difference.

    Args:
      candidates: each candidate, and whether its effect is so slight that only a compiled run can
        tell that it fits.
      plain: the side without mistakes.
      other: the side to keep up with.
      context: the comparison.
      subset: the parameters that the candidates and the plain side have.

    Returns:
      The candidates that stayed close to the other side all the way, with the largest error in
      parts of what the tolerance allows, closest first; and those that ever left the plain side.
    """
    params = subset.of(context.params)
    leader, unchanged = _Runner(other, context.params, context), _Runner(plain, params, context)
    running = {key: _Runner(each, params, context) for key, (each, _) in candidates.items()}
    begin = _arrays(subset.of(leader.params))
    errors = dict.fromkeys(running, 0.0)
    effective: set[Key] = set()
    for step in range(context.window):
        grads = context.gradients(leader.params, step)
        leader.advance(step, grads)
        for runner in (unchanged, *running.values()):
            runner.advance(step, subset.of(grads))
        target, usual = _arrays(subset.of(leader.params)), _arrays(unchanged.params)
        for key, runner in list(running.items()):
            arrays = _arrays(runner.params)
            measured_at = arrays, begin, step + 1
            if key not in effective and not _error(usual, *measured_at, context.tolerance) <= 1.0:
                effective.add(key)
            error = _error(target, *measured_at, context.tolerance)
            slight = candidates[key][1] and _error(target, *measured_at, _SLIGHT) <= 1.0
            errors[key] = max(errors[key], error if error <= LOOSER or slight else math.inf)
            if errors[key] == math.inf and (key in effective or step >= _SHOWN):
                del running[key]
        if not running:
            break
    close = {key: error for key, error in errors.items() if error < math.inf}
    return dict(sorted(close.items(), key=lambda item: item[1])), effective


def _arrays(tree: Any) -> Arrays:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def _error(first: Arrays, arrays: Arrays, begin: Arrays, steps: int, allowed: Tolerance) -> float:
    """The largest error after so many steps, in parts of the allowed error, as in a report."""
    rows = np.asarray(_measured(list(zip(first, arrays, strict=True)), begin), np.float64)
    scales = [
        allowed.at(steps, row[DISTANCE], row[LARGEST], array.dtype.name)
        for row, array in zip(rows, first, strict=True)
    ]
    # Where the scale is 0, no error is small.
    ratios = np.nan_to_num(ratio(rows[:, ERROR], np.asarray(scales)), nan=np.inf, posinf=np.inf)
    return float(np.max(ratios, initial=0.0))
