"""Two runs in lock step, in one compiled loop that measures how far apart they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.findings import PARAMETER, Track
from flaxoptim_compat.parity.gradients import Gradients
from flaxoptim_compat.parity.matching import Matching
from flaxoptim_compat.parity.measuring import (
    DISTANCE,
    ERROR,
    FIRST_NOT_FINITE,
    LARGEST,
    MEASURES,
    SECOND_NOT_FINITE,
    measured,
)
from flaxoptim_compat.parity.overrides import Overrides
from flaxoptim_compat.parity.sides import Side
from flaxoptim_compat.parity.stepping import Stepper
from flaxoptim_compat.versions.of_jax import optimization_barrier

Progress = Callable[[int, int], None]
Carry = tuple[Any, Any]

_ORDINALS = ("first", "second")
# The bytes of the gradients of steps that are in memory at once, and the number of such steps.
_MEMORY = 2**28
_MOST = 256
# How long a call may take, roughly, before it is time to show progress.
_SECONDS = 0.25


class Lockstep:
    """Two sides that do the same steps.

    Args:
      sides: the two sides.
      params: the parameters to start from, for a side that brings none.
      grads: the gradients.
      overrides: the hyper-parameters that are set at each step.
      steps: how many steps to do.

    Raises:
      ParityError: a side fails, or the two have different parameters.
    """

    def __init__(
        self,
        sides: tuple[Side, Side],
        params: Any,
        grads: Gradients,
        overrides: Overrides,
        steps: int,
    ) -> None:
        self.sides = sides
        self._grads = grads
        self.loop = grads.loop
        self._overrides = overrides
        self.steps = steps
        self.notes: list[str] = []
        self._steppers = (self._begun(0, params), self._begun(1, params))
        self._start = self._settled((self._steppers[0].start, self._steppers[1].start))
        self.matching = Matching(sides, self._start)
        self.notes += self.matching.notes
        self._begin = [first for first, _ in self.matching.arrays(self._start)]
        # The largest number of steps to do in one call.
        self._capacity = self._most()
        self._run, self._measure = jax.jit(self._steps), jax.jit(self._errors)

    def tracks(self, progress: Progress | None = None) -> list[Track]:
        """Do all steps, and measure each pair of arrays before the first and after each.

        Args:
          progress: called with the number of steps done, and of all.
        """
        series = np.empty((self.steps + 1, len(self._begin), MEASURES))
        series[0] = self._measure(self._start, self._begin)
        for done, rows, _ in self._advance(self.steps, progress):
            series[done + 1 - len(rows) : done + 1] = rows
        tracks = [
            Track(
                *match[1:],
                error=series[:, row, ERROR],
                # So far, because an array that passes through zero is not infinitely precise.
                distance=np.maximum.accumulate(series[:, row, DISTANCE]),
                largest=np.maximum.accumulate(series[:, row, LARGEST]),
            )
            for row, match in enumerate(self.matching.matches)
        ]
        self.notes += _not_finite(tracks, series)
        return tracks

    def arrays_after(self, step: int, row: int) -> tuple[Any, Any]:
        """One pair of arrays after a step, which is done again."""
        carry = self._start
        for _, _, latest in self._advance(step, None):
            carry = latest
        first, second = self.matching.arrays(carry)[row]
        return np.asarray(first), np.asarray(second)

    def _advance(
        self, until: int, progress: Progress | None
    ) -> Iterator[tuple[int, np.ndarray[Any, Any], Carry]]:
        carry, done = self._start, 0
        size = 1 if progress else self._capacity
        while done < until:
            begin = time.monotonic()
            count = min(size, self._capacity, until - done)
            inputs = self._inputs(done, count)
            carry, rows = self._run(carry, self._begin, done, done + count, inputs)
            done += count
            if progress:
                progress(done, until)
                size = 2 * size if time.monotonic() - begin < _SECONDS else size
            yield done, np.asarray(rows, np.float64)[:count], carry

    def _begun(self, number: int, params: Any) -> Stepper:
        """A side at the start; a note names the overrides that the side does not take."""
        with self._blamed(number, "could not start"):
            stepper = Stepper(self.sides[number], params, self._overrides)
        left = sorted(set(self._overrides.values) - stepper.names)
        if left:
            self.notes.append(
                f"The {_ORDINALS[number]} side goes by its own {', '.join(left)}, which cannot be"
                " set at each step. See optax.inject_hyperparams."
            )
        return stepper

    def _blamed(self, number: int, what: str) -> AbstractContextManager[None]:
        return _told(f"The {_ORDINALS[number]} side ({self.sides[number].name}) {what}:")

    def _steps(
        self, carry: Carry, begin: Any, first: Any, last: Any, inputs: Any
    ) -> tuple[Carry, jax.Array]:
        """Do some steps.

        Args:
          carry: the carries of both sides so far.
          begin: the arrays of the first side at the start.
          first: the number of the first step to do.
          last: the number of the step after the last one.
          inputs: trees whose leaves have as many entries as there can be steps, one for each.
        """

        def body(index: Any, state: Any) -> Any:
            carry, errors = state
            step_inputs = jax.tree.map(lambda entries: entries[index - first], inputs)
            # Fused with the measuring, the step would be rounded differently.
            carry = optimization_barrier(self._step(carry, index, step_inputs))
            return carry, errors.at[index - first].set(self._errors(carry, begin))

        errors = jnp.zeros((self._capacity, len(begin), MEASURES), jnp.result_type(float))
        result: tuple[Carry, jax.Array] = jax.lax.fori_loop(first, last, body, (carry, errors))
        return result

    def _errors(self, carry: Carry, begin: Any) -> jax.Array:
        return measured(self.matching.arrays(carry), begin)

    def _step(self, carry: Carry, index: Any, inputs: Mapping[str, Any]) -> Carry:
        first, second = (
            side.params_of(carried) for side, carried in zip(self.sides, carry, strict=True)
        )
        with _told("The gradients failed: grads(params, step) is traced by jax."):
            grads = self._grads.of_step(first, second, index, inputs)
        # Else the fusion of each side might compute the gradients anew, and round them differently.
        carry, grads = optimization_barrier((carry, grads))

        def step_of(number: int) -> Any:
            mine = inputs[_ORDINALS[number]]
            with self._blamed(number, "failed in a step"):
                return self._steppers[number].step(carry[number], grads[number], mine)

        return step_of(0), step_of(1)

    def _settled(self, start: Carry) -> Carry:
        """The start in the dtypes that it has after a step: integers may become floats."""
        if not self.steps:
            return start
        inputs = self._inputs_of(0, start)
        for _ in range(3):
            after = jax.eval_shape(self._step, start, 0, inputs)
            for number, (old, new) in enumerate(zip(start, after, strict=True)):
                self._check_form(number, old, new)
            leaves = zip(jax.tree.leaves(start), jax.tree.leaves(after), strict=True)
            if all(old.dtype == new.dtype for old, new in leaves):
                return start
            start = jax.tree.map(lambda leaf, like: leaf.astype(like.dtype), start, after)
        raise ParityError("The dtypes of a side change with each step.")

    def _check_form(self, number: int, before: Any, after: Any) -> None:
        changes = f"A step of the {_ORDINALS[number]} side ({self.sides[number].name}) changes the"
        of = "of its parameters or of its state"
        structures = str(jax.tree.structure(before)), str(jax.tree.structure(after))
        if structures[0] != structures[1]:
            raise ParityError(f"{changes} structure {of}: from {structures[0]} to {structures[1]}.")
        for old, new in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
            if old.shape != new.shape:
                raise ParityError(f"{changes} shape {of}: from {old.shape} to {new.shape}.")

    def _inputs_of(self, step: int, carry: Carry) -> dict[str, Any]:
        """The inputs of a step from outside."""
        grads = self._grads.inputs_of(step, self.sides[0].params_of(carry[0]))
        steppers = zip(_ORDINALS, self._steppers, strict=True)
        return {**grads, **{name: stepper.inputs_of(step) for name, stepper in steppers}}

    def _inputs(self, first: int, count: int) -> Any:
        """The inputs of some steps, stacked, and filled up with copies of the last."""
        inputs = [self._inputs_of(step, self._start) for step in range(first, first + count)]
        inputs += inputs[-1:] * (self._capacity - count)
        return jax.tree.map(lambda *entries: np.stack(entries), *inputs)

    def _most(self) -> int:
        if not self.steps:
            return 1
        leaves = jax.tree.leaves(self._inputs_of(0, self._start))
        size = sum(np.asarray(leaf).nbytes for leaf in leaves)
        return max(1, min(self.steps, _MOST, _MEMORY // max(size, 1)))


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Raise errors of the user's code as a ParityError that begins with some words."""
    try:
        yield
    except ParityError:
        raise
    except Exception as error:
        raise ParityError(f"{what} {type(error).__name__}: {error}") from error


def _not_finite(tracks: list[Track], series: np.ndarray[Any, Any]) -> list[str]:
    """Notes on the first array of each side with an element that is not finite."""
    columns = {"first": FIRST_NOT_FINITE, "second": SECOND_NOT_FINITE}
    places = {name: _first_flag(series[:, :, column]) for name, column in columns.items()}
    if places["first"] == places["second"]:
        places = {"both": places["first"]}
    return [
        f"NaN or infinity on {'both sides' if name == 'both' else f'the {name} side'} from step"
        f" {place[0]} on, first in {_called(tracks[place[1]])}."
        for name, place in places.items()
        if place is not None
    ]


def _first_flag(flags: np.ndarray[Any, Any]) -> tuple[int, int] | None:
    """The step and the array of the first flag that is set."""
    if not flags.any():
        return None
    step = int(np.argmax(flags.any(axis=1)))
    return step, int(np.argmax(flags[step]))


def _called(track: Track) -> str:
    of = "" if track.quantity == PARAMETER else f"{track.quantity} of "
    return f"{of}{track.leaf or 'the parameter'}"
