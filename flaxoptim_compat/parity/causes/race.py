"""Many candidates beside one side, step by step; a candidate that is too far from it drops out.

This is not compiled: most candidates drop out within a step or two, and compiling each of them
would take a hundred times as long as that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.bridge.compiled import compiled_steps
from flaxoptim_compat.parity.causes.context import LARGE, Context, Part, size_of
from flaxoptim_compat.parity.findings import ratio
from flaxoptim_compat.parity.measuring import DISTANCE, ERROR, LARGEST, measured
from flaxoptim_compat.parity.sides import side
from flaxoptim_compat.parity.stepping import Stepper
from flaxoptim_compat.parity.tolerance import Tolerance

Key = TypeVar("Key")
Arrays = Sequence[np.ndarray[Any, Any]]

# Op by op, sums are rounded in another order than compiled, and that run has the last word.
LOOSER = 4.0
# Of a run with moments in half precision, in which op by op every product is rounded as well.
_SLIGHT = Tolerance(2.0**-5, roundings=0.0)
# By which step a mistake that makes any difference mostly shows it.
_SHOWN = 4

_measured = jax.jit(measured)


class _Runner:
    """One side on its way, with the gradients it is given."""

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
            self._carry = self._step(self._carry, grads, self._stepper.given(step))


def fits(
    candidates: Mapping[Key, tuple[Any, bool]],
    plain: Any,
    other: Any,
    context: Context,
    part: Part,
) -> tuple[dict[Key, float], set[Key]]:
    """The candidates that keep up with the other side, and those that make any difference.

    Args:
      candidates: each candidate, and whether its effect is so slight that only a compiled run can
        tell that it fits.
      plain: the side that they are variants of.
      other: the side to keep up with.
      context: the comparison.
      part: which parameters the candidates and the plain side have.

    Returns:
      Those that stayed close to the other side all the way, with the largest error in parts of what
      the tolerance allows, closest first; and those that ever left the plain one.
    """
    params = part.of(context.params)
    leader, unchanged = _Runner(other, context.params, context), _Runner(plain, params, context)
    running = {key: _Runner(each, params, context) for key, (each, _) in candidates.items()}
    begin = _arrays(part.of(leader.params))
    errors = dict.fromkeys(running, 0.0)
    effective: set[Key] = set()
    for step in range(context.window):
        grads = context.gradients(leader.params, step)
        leader.advance(step, grads)
        for runner in (unchanged, *running.values()):
            runner.advance(step, part.of(grads))
        target, usual = _arrays(part.of(leader.params)), _arrays(unchanged.params)
        for key, runner in list(running.items()):
            arrays = _arrays(runner.params)
            given = arrays, begin, step + 1
            if key not in effective and not _error(usual, *given, context.tolerance) <= 1.0:
                effective.add(key)
            error = _error(target, *given, context.tolerance)
            slight = candidates[key][1] and _error(target, *given, _SLIGHT) <= 1.0
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
    """The largest error after so many steps, in parts of what is allowed, as a report has it."""
    rows = np.asarray(_measured(list(zip(first, arrays, strict=True)), begin), np.float64)
    scales = [
        allowed.at(steps, row[DISTANCE], row[LARGEST], array.dtype.name)
        for row, array in zip(rows, first, strict=True)
    ]
    # Where there is nothing to measure by, no error is small.
    ratios = np.nan_to_num(ratio(rows[:, ERROR], np.asarray(scales)), nan=np.inf, posinf=np.inf)
    return float(np.max(ratios, initial=0.0))
