"""Baselines: the run of one optimizer kept in a file, to be compared with later runs."""

from __future__ import annotations

import dataclasses
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from flaxoptim_compat.atomic import appearing_file
from flaxoptim_compat.parity.comparison import compare
from flaxoptim_compat.parity.counterparts import is_optimizer
from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.gradients import Gradients, gradients
from flaxoptim_compat.parity.overrides import overrides as read_overrides
from flaxoptim_compat.parity.recordings import recorder
from flaxoptim_compat.parity.recordings.recording import Recording
from flaxoptim_compat.parity.report import Report
from flaxoptim_compat.parity.sides import Side, side
from flaxoptim_compat.parity.stepping import Stepper
from flaxoptim_compat.parity.testing.assertions import starting_parameters
from flaxoptim_compat.parity.tolerance import Tolerance
from flaxoptim_compat.parity.trial import gradients as trial_gradients
from flaxoptim_compat.versions.of_jax import optimization_barrier


@dataclasses.dataclass(frozen=True, eq=False)
class Trajectory:
    """A run of one optimizer, which can be recorded as a baseline or compared with one.

    The fields are the arguments of a call of ``pytest_plugin.Baselines``.
    """

    subject: Any
    params: Any = None
    grads: Any = None
    steps: int = 100
    overrides: Mapping[str, Any] | None = None

    def record(self, path: Path) -> None:
        """Do the run, and write the baseline over one that may be there.

        Raises:
          ParityError: the run cannot be done.
          OSError: the file cannot be written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with appearing_file(path) as file, zipfile.ZipFile(file, "w") as archive:
                self._write(recorder.RecordingWriter(archive, self.steps))
        except recorder.RecordingError as error:
            raise ParityError(str(error)) from error

    def compared_with(self, path: Path, tolerance: float | Tolerance | None = None) -> Report:
        """The report of the run against a baseline.

        Args:
          path: the baseline.
          tolerance: how far apart the runs may be; 0 demands every bit.

        Raises:
          ParityError: the run cannot be done, or cannot be compared with this baseline.
        """
        with Recording.open(path) as then, tempfile.TemporaryDirectory() as folder:
            if then.steps != self.steps:
                raise ParityError(
                    f"{path} has {then.steps} steps, and the run is to have {self.steps}."
                )
            exact = Tolerance.of(tolerance).exact
            if not exact:
                report = self._compared(self.subject, then, tolerance)
                if report.equal:
                    return report
            again = Path(folder, "again.npz")
            self.record(again)
            with Recording.open(again) as now:
                if exact:
                    # Both were compiled alike, and can have the same bits.
                    report = self._compared(now, then, tolerance)
                notes = [note for note in report.notes if not note.startswith(str(again))]
                if report.first_parting is not None:
                    notes += _about_inputs(then, now, report.first_parting.step)
            return dataclasses.replace(report, notes=tuple(notes))

    def _compared(self, run: Any, then: Recording, tolerance: float | Tolerance | None) -> Report:
        recorded = isinstance(run, Recording)
        report = compare(
            run,
            then,
            None if recorded else starting_parameters(self.params, run),
            then if recorded else self._grads,
            self.steps,
            overrides=self.overrides or {},
            tolerance=tolerance,
            # The gradients are those of the run; nobody asks for any at the baseline's parameters.
            loop="open",
            names=("this run", "the baseline"),
        )
        return dataclasses.replace(report, loop=self._source.loop)

    @property
    def _grads(self) -> Any:
        return trial_gradients if self.grads is None else self.grads

    @property
    def _source(self) -> Gradients:
        return gradients(self._grads, None)

    def _write(self, recording: recorder.RecordingWriter) -> None:
        own, source = side(self.subject), self._source
        if own.recording is not None:
            raise ParityError("A recording cannot be a baseline: give an optimizer to run.")
        if source.count is not None and source.count < self.steps:
            raise ParityError(f"There are gradients for {source.count} of {self.steps} steps.")
        overrides = read_overrides(self.overrides, self.steps)
        params = starting_parameters(self.params, self.subject) if own.params is None else None
        stepper = Stepper(own, params, overrides)

        def step(carry: Any, index: Any, inputs: Any) -> tuple[Any, Any]:
            before = own.params_of(carry)
            grads, _ = source.of_step(before, before, index, inputs)
            carry, grads = optimization_barrier((carry, grads))
            return stepper.step(carry, grads, inputs), grads

        compiled, carry = jax.jit(step), stepper.start
        state = _recorded(own, carry)
        recording.state(state)
        for index in range(self.steps):
            before = own.params_of(carry)
            inputs = {**stepper.inputs_of(index), **source.inputs_of(index, before)}
            carry, grads = compiled(carry, np.int32(index), inputs)
            recording.gradients(state, grads, stepper.overrides_of(inputs))
            state = _recorded(own, carry)
            recording.state(state)
        recording.finish()


def _recorded(own: Side, carry: Any) -> Any:
    """An Optimizer, or an object with its fields, for the recorder."""
    if is_optimizer(carry):
        return carry
    params = own.params_of(carry)
    treedef: Any = jax.tree.structure(params)
    moments = own.moments(carry)
    states = [
        {name: moment.arrays[leaf] for name, moment in moments.items()}
        for leaf in range(treedef.num_leaves)
    ]
    state = SimpleNamespace(step=0, param_states=jax.tree.unflatten(treedef, states))
    # The recorder writes the class of the definition.
    kind = type(own.name, (), {})
    return SimpleNamespace(target=params, state=state, optimizer_def=kind())


def _about_inputs(then: Recording, now: Recording, last: int) -> list[str]:
    """Notes about other parameters to start from, or other gradients, than the baseline had."""
    if not _same(then.params, now.params):
        return [
            "The runs do not start from the same parameters, so more than the optimizer differs."
        ]
    for step in range(last):
        if not _same(then.gradients(step), now.gradients(step)):
            return [
                f"The gradients of step {step + 1} are not those of the baseline, so more than the"
                " optimizer differs."
            ]
        if not _same(then.params_after(step), now.params_after(step)):
            break
    return []


def _same(first: Any, second: Any) -> bool:
    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
