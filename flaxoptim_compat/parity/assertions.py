"""Assertions that two optimizers do the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flaxoptim_compat.parity import trial
from flaxoptim_compat.parity.comparison import compare
from flaxoptim_compat.parity.report import Report
from flaxoptim_compat.parity.sides import side
from flaxoptim_compat.parity.tolerance import Tolerance


def assert_same_trajectory(
    a: Any,
    b: Any,
    params: Any = None,
    grads: Any = None,
    steps: int | None = 100,
    *,
    overrides: Mapping[str, Any] | None = None,
    tolerance: float | Tolerance | None = None,
    loop: str | None = None,
) -> Report:
    """Assert that two optimizers come to the same parameters and moments at every step.

    Args:
      a: the first side; see ``compare``.
      b: the second side.
      params: where to start; those that a side brings, or ``trial.parameters()``, if None.
      grads: a function ``(params, step)``, or a list; ``trial.gradients`` if None.
      steps: how many steps to do; of a list, at most all that it has.
      overrides: see ``compare``.
      tolerance: how far apart the two sides may be; 0 demands every bit.
      loop: see ``compare``.

    Returns:
      The report of the comparison.

    Raises:
      AssertionError: the two sides part; the message is the report as a table.
      ParityError: the two sides cannot be compared.
    """
    __tracebackhide__ = True
    report = compare(
        a,
        b,
        starting_parameters(params, a, b),
        trial.gradients if grads is None else grads,
        steps if steps is None or callable(grads or 0) or grads is None else min(steps, len(grads)),
        overrides=overrides,
        tolerance=tolerance,
        loop=loop,
    )
    assert_equal(report)
    return report


def starting_parameters(params: Any, *subjects: Any) -> Any:
    """The parameters to start from: those given, or those of a trial if no side brings any."""
    if params is None and all(side(subject).params is None for subject in subjects):
        return trial.parameters()
    return params


def assert_equal(report: Report, advice: str = "") -> None:
    """Assert that a comparison found no parting; else the report, and advice, is the message."""
    __tracebackhide__ = True
    if not report.equal:
        raise AssertionError(f"{report}\n\n{advice}".rstrip())
