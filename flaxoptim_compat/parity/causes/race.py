"""Many candidates beside one side, step by step; whoever is too far from it drops out.

This is not compiled: most candidates drop out within a step or two, and compiling each of them
would take a hundred times as long as that.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.bridge.compiled import compiled_steps
from flaxoptim_compat.parity.causes.context import Context
from flaxoptim_compat.parity.causes.scope import LARGE, Scope, size_of
from flaxoptim_compat.parity.findings import ratio
from flaxoptim_compat.parity.partings import differences, wide
from flaxoptim_compat.parity.sides import side
from flaxoptim_compat.parity.stepping import Stepper
from flaxoptim_compat.parity.tolerance import Tolerance

Key = TypeVar("Key")
Arrays = Sequence[np.ndarray[Any, Any]]

# Op by op, sums are rounded in another order than compiled, and that run has the last word.
LOOSER = 4.0
# Of a run with moments in half precision, in which op by op every product is rounded as well.
_SLIGHT = 2.0**-5
# By which step a mistake that makes any difference mostly shows it.
_SHOWN = 4
# How many parameters the candidates that run at the same time may have together.
_TOGETHER = 2**26
_EVERYTHING = Scope()


@dataclasses.dataclass(frozen=True)
class Entry:
    """A candidate, and whether only a compiled run can tell that it fits.

    That is so of moments in half precision beside a side that may be compiled: a product is rounded
    or not, whatever the program says.
    """

    subject: Any
    slight: bool = False


def may_be_compiled(subject: Any, context: Context) -> bool:
    """Whether a side is large, code of the user's, or was recorded: it need not run op by op."""
    if size_of(context.params) > LARGE or side(subject).recording is not None:
        return True
    # An optax transformation is a tuple as well, but a named one.
    return type(subject) is tuple


class _Runner:
    """One side on its way, with the gradients it is given."""

    def __init__(self, subject: Any, context: Context, scope: Scope) -> None:
        params = scope.pick(context.params)
        self._stepper = Stepper(side(subject), params, context.overrides)
        # A copy: the user's step may donate what it is given.
        self._carry = jax.tree.map(jnp.array, self._stepper.start)
        compiled = size_of(params) > LARGE
        self._step = jax.jit(self._stepper.step) if compiled else self._stepper.step
        self.tree = self._stepper.side.params_of(self._carry)

    def advance(self, step: int, grads: Any) -> None:
        """Do a step."""
        grads = jax.tree.unflatten(jax.tree.structure(self.tree), jax.tree.leaves(grads))
        with compiled_steps(False):
            self._carry = self._step(self._carry, grads, self._stepper.given(step))
        self.tree = self._stepper.side.params_of(self._carry)


def fits(
    entries: Mapping[Key, Entry],
    plain: Any,
    other: Any,
    context: Context,
    scope: Scope = _EVERYTHING,
) -> tuple[dict[Key, float], set[Key]]:
    """Which candidates keep up with the other side; and which of them make any difference.

    Args:
      entries: the candidates.
      plain: the side that they are variants of.
      other: the side to keep up with.
      context: the comparison.
      scope: which parameters the candidates and the plain side have.

    Returns:
      Those that stayed close to the other side all the way, with the largest error in parts of what
      the tolerance allows, closest first; and those that ever left the plain one.
    """
    batch = max(1, _TOGETHER // max(size_of(scope.pick(context.params)), 1))
    keys = list(entries)
    close: dict[Key, float] = {}
    effective: set[Key] = set()
    for begin in range(0, len(keys), batch):
        some = {key: entries[key] for key in keys[begin : begin + batch]}
        kept, changed = _heat(some, plain, other, context, scope)
        close |= kept
        effective |= changed
    return dict(sorted(close.items(), key=lambda item: item[1])), effective


def _heat(
    entries: Mapping[Key, Entry],
    plain: Any,
    other: Any,
    context: Context,
    scope: Scope,
) -> tuple[dict[Key, float], set[Key]]:
    leader, unchanged = _Runner(other, context, _EVERYTHING), _Runner(plain, context, scope)
    running = {key: _Runner(each.subject, context, scope) for key, each in entries.items()}
    gradients = _gradients(context)
    near_leader = _Nearness(_arrays(scope.pick(leader.tree)), context.tolerance)
    near_plain = _Nearness(_arrays(unchanged.tree), context.tolerance)
    errors = dict.fromkeys(running, 0.0)
    effective: set[Key] = set()
    for step in range(context.window):
        if not running:
            break
        grads = gradients(leader.tree, step)
        leader.advance(step, grads)
        for runner in (unchanged, *running.values()):
            runner.advance(step, scope.pick(grads))
        near_leader.follow(_arrays(scope.pick(leader.tree)))
        near_plain.follow(_arrays(unchanged.tree))
        for key, runner in list(running.items()):
            arrays = _arrays(runner.tree)
            if key not in effective and not near_plain.error_of(arrays) <= 1.0:
                effective.add(key)
            slight = entries[key].slight and near_leader.of_distance(arrays) <= _SLIGHT
            error = near_leader.error_of(arrays)
            errors[key] = max(errors[key], error if error <= LOOSER or slight else math.inf)
            if errors[key] == math.inf and (key in effective or step >= _SHOWN):
                del running[key]
    return {key: error for key, error in errors.items() if error < math.inf}, effective


def _arrays(tree: Any) -> Arrays:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def _gradients(context: Context) -> Callable[[Any, int], Any]:
    """``(params, step) -> gradients``, at the parameters of one side."""
    grads = context.grads
    if grads.function is None:

        def known(params: Any, step: int) -> Any:
            return grads.of_step(params, params, step, grads.given(step, params))[0]

        return known
    return jax.jit(lambda params, step: grads.of_step(params, params, step, {})[0])


class _Nearness:
    """Whether arrays are near those of a run, by the tolerance of the comparison."""

    def __init__(self, start: Arrays, tolerance: Tolerance) -> None:
        self._start = list(map(wide, start))
        self._tolerance = tolerance
        self._arrays = start
        self._allowed: list[float] = []
        self._distances: list[float] = []
        self._steps = 0

    def follow(self, arrays: Arrays) -> None:
        """Take the run a step further."""
        self._steps += 1
        self._arrays = arrays
        self._allowed, self._distances = [], []
        every = np.ones(self._steps + 1)
        for array, start in zip(arrays, self._start, strict=True):
            with np.errstate(invalid="ignore", over="ignore"):
                distance = float(np.max(np.abs(wide(array) - start), initial=0.0))
            largest = float(np.max(np.abs(array), initial=0.0))
            allowed = self._tolerance.allowed(distance * every, largest * every, array.dtype)
            self._allowed.append(float(allowed[-1]))
            self._distances.append(distance)

    def error_of(self, arrays: Arrays) -> float:
        """The largest error of these arrays, in parts of what is allowed."""
        return self._largest(arrays, self._allowed)

    def of_distance(self, arrays: Arrays) -> float:
        """The largest error of these arrays, in parts of the distance travelled."""
        return self._largest(arrays, self._distances)

    def _largest(self, arrays: Arrays, scales: Sequence[float]) -> float:
        pairs = zip(arrays, self._arrays, strict=True)
        errors = np.asarray([np.max(differences(*pair), initial=0.0) for pair in pairs])
        # Where there is nothing to measure by, no error is small.
        ratios = np.nan_to_num(ratio(errors, np.asarray(scales)), nan=np.inf, posinf=np.inf)
        return float(np.max(ratios, initial=0.0))
