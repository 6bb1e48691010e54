"""Baselines: the run of one optimizer kept in a file, to be compared with later runs."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from flaxoptim_compat.observation import record, record_files, records
from flaxoptim_compat.observation.curves import Runs, report
from flaxoptim_compat.observation.pairing import paired
from flaxoptim_compat.observation.records import Record
from flaxoptim_compat.parity.assertions import starting_parameters
from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.gradients import gradients
from flaxoptim_compat.parity.overrides import overrides as read_overrides
from flaxoptim_compat.parity.report import Report
from flaxoptim_compat.parity.sides import Side, one_ulp_off, side
from flaxoptim_compat.parity.stepping import Stepper
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
        with tempfile.TemporaryDirectory() as folder:
            self._do(side(self.subject), folder)
            record.pack(folder, str(path))

    def compared_with(self, path: Path, tolerance: float | Tolerance | None = None) -> Report:
        """The report of the run against a baseline.

        Args:
          path: the baseline.
          tolerance: how far apart the runs may be; 0 demands every bit.

        Raises:
          ParityError: the run cannot be done, or cannot be compared with this baseline.
        """
        then, own = record_files.read(path), side(self.subject)
        steps = max(max(state.step) for states in then.states.values() for state in states)
        if steps != self.steps:
            raise ParityError(f"{path} has {steps} steps, and the run is to have {self.steps}.")
        now = self._run(own, then)
        report = _report(then, now, None, tolerance)
        if report.equal or Tolerance.of(tolerance).exact:
            return report
        return _report(then, now, self._run(one_ulp_off(own), then), tolerance)

    def _run(self, own: Side, then: Record) -> Record:
        """The record of the run, with the names of a baseline."""
        with tempfile.TemporaryDirectory() as folder:
            self._do(own, folder)
            now, pairs = paired(then, records.read(Path(folder)))
        if not pairs:
            raise ParityError("The baseline has other parameters than the run.")
        return now

    def _do(self, own: Side, folder: str) -> None:
        """Do the run, and write its states into a folder."""
        source = gradients(trial_gradients if self.grads is None else self.grads, None)
        if source.count is not None and source.count < self.steps:
            raise ParityError(f"There are gradients for {source.count} of {self.steps} steps.")
        overrides = read_overrides(self.overrides, self.steps)
        params = starting_parameters(self.params, self.subject) if own.params is None else None
        stepper = Stepper(own, params, overrides)

        def step(carry: Any, index: Any, inputs: Any) -> Any:
            before = own.params_of(carry)
            grads, _ = source.of_step(before, before, index, inputs)
            carry, grads = optimization_barrier((carry, grads))
            return stepper.step(carry, grads, inputs)

        compiled, carry = jax.jit(step), stepper.start
        with record.recording(folder, is_whole=True) as recorder:
            recorder.note(_state(own, carry, 0), is_created=True)
            for index in range(self.steps):
                inputs = {
                    **stepper.inputs_of(index),
                    **source.inputs_of(index, own.params_of(carry)),
                }
                carry = compiled(carry, np.int32(index), inputs)
                recorder.note(_state(own, carry, index + 1))


def _report(
    then: Record, now: Record, control: Record | None, tolerance: float | Tolerance | None
) -> Report:
    found = report([Runs(then, now, control)], ("the baseline", "this run"), tolerance)
    assert found is not None
    return found


def _state(own: Side, carry: Any, step: int) -> Any:
    """A state for the recorder, with the moments by the names of optax."""
    params = own.params_of(carry)
    treedef: Any = jax.tree.structure(params)
    moments = {
        name: treedef.unflatten(moment.arrays) for name, moment in own.moments(carry).items()
    }
    return SimpleNamespace(params=params, step=np.int32(step), opt_state=moments)
