"""Two optimizers side by side: the same start, the same gradients, compared after each step."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from flaxoptim_compat.parity import partings
from flaxoptim_compat.parity.causes import Context, find, fitting
from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.findings import Parting, Track
from flaxoptim_compat.parity.gradients import gradients
from flaxoptim_compat.parity.lockstep import Lockstep, Progress
from flaxoptim_compat.parity.overrides import overrides as read_overrides
from flaxoptim_compat.parity.report import Report
from flaxoptim_compat.parity.sides import Side, one_ulp_off, side
from flaxoptim_compat.parity.tolerance import Series, Tolerance

_PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy")


def compare(
    a: Any,
    b: Any,
    params: Any = None,
    grads: Any = None,
    steps: int | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    tolerance: float | Tolerance | None = None,
    loop: str | None = None,
    names: tuple[str, str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Run two optimizers in lock step and report whether, where and why they part.

    Args:
      a: the first side: a definition of flax.optim, an Optimizer, an optax transformation, a
        TrainState, or a pair of functions ``init(params) -> state`` and
        ``step(params, state, grads, **overrides) -> (params, state)``. All of them are run under
        ``jax.jit``.
      b: the second side.
      params: the parameters to start from; None if a side brings its own.
      grads: a function ``(params, step)`` that jax can trace, which is done once; a list with the
        gradients of each step.
      steps: how many steps to do; all of a list if None.
      overrides: hyper-parameters of each step by name, as ``apply_gradient(grads, name=value)``
        takes them: a number, an array with one for each step, or a function of the step. They are
        given to sides of flax.optim, to optax states that have them injected, and to functions that
        take such a keyword.
      tolerance: how far apart the runs may be, in parts of the distance travelled; 0 demands every
        bit, None allows what differences in rounding make.
      loop: ``"closed"`` takes each side's gradients at its own parameters, as is usual for a
        function; ``"open"`` takes them at the first side's and gives both the same.
      names: what to call the two sides in the report.
      progress: called now and then with the number of steps done, and of all.

    Raises:
      ParityError: this cannot be compared; the message says why.
    """
    sides = side(a), side(b)
    if grads is None:
        raise ParityError("grads is missing: give a function (params, step), or a list.")
    source = gradients(grads, loop)
    count = _count(steps, source.count)
    values: Mapping[str, Any] = overrides or {}
    step_overrides = read_overrides(values, count)
    start = _start(params, sides)
    allowed = Tolerance.of(tolerance)
    run = Lockstep(sides, start, source, step_overrides, count)
    report = _report(run, allowed, names, progress)
    if report.first_parting is not None and not allowed.exact:
        control = Lockstep((sides[0], one_ulp_off(sides[0])), start, source, step_overrides, count)
        report = _less_what_grew(report, run, control.tracks())
    if report.first_parting is None:
        return report
    if not partings.parting_parameters(report.tracks, allowed):
        note = (
            f"No parameter parts within {count} steps, only moments: they are kept in another scale"
            " or with another sign, or will move the parameters later."
        )
        return dataclasses.replace(report, notes=(*report.notes, note))
    # Known causes move parameters by more than rounding does.
    leaves = partings.parting_parameters(report.tracks, fitting(allowed))
    if not leaves:
        return report
    context = Context(
        params=start,
        grads=source,
        overrides=step_overrides,
        functions={name: each for name, each in values.items() if callable(each)},
        steps=count,
        parted=report.first_parting.step,
        leaves=leaves,
        tolerance=fitting(allowed),
        runs=lambda first, second, until: _report(
            Lockstep((side(first), side(second)), start, source, step_overrides, until),
            fitting(allowed),
        ),
    )
    return dataclasses.replace(report, causes=find(a, b, context))


def _report(
    run: Lockstep,
    allowed: Tolerance,
    names: tuple[str, str] | None = None,
    progress: Progress | None = None,
) -> Report:
    tracks = run.tracks(progress)
    first, second = run.sides
    return Report(
        names=names or (first.name, second.name),
        steps=run.steps,
        tracks=tracks,
        tolerance=allowed,
        first_difference=_parting(run, tracks, [each.relative for each in tracks]),
        first_parting=_parting(run, tracks, partings.beyond(tracks, allowed)),
        causes=(),
        loop=run.loop,
        notes=tuple(run.notes),
        versions={name: version(name) for name in _PACKAGES}
        | {"device": jax.devices()[0].device_kind},
    )


def _less_what_grew(report: Report, run: Lockstep, control: Sequence[Track]) -> Report:
    """The report, if as much is allowed as one side makes of differences in the last place."""
    grown = {(each.leaf, each.quantity): np.maximum.accumulate(each.error) for each in control}
    tracks = [
        dataclasses.replace(each, grown=grown[each.leaf, each.quantity]) for each in report.tracks
    ]
    parting = _parting(run, tracks, partings.beyond(tracks, report.tolerance))
    assert report.first_parting is not None
    notes = report.notes
    if parting is None or parting.step > report.first_parting.step:
        hint = " loop='open' gives both sides the same gradients, and tells more."
        notes += (
            f"From step {report.first_parting.step} on the runs are further apart than roundings"
            " that add up. But one side alone also moves as far if all parameters and gradients"
            " are one unit in the last place off: this training makes small differences grow, so"
            f" they tell nothing from there on.{hint if report.loop == 'closed' else ''}",
        )
    return dataclasses.replace(report, tracks=tracks, first_parting=parting, notes=notes)


def _count(steps: int | None, known: int | None) -> int:
    if steps is None:
        if known is None:
            raise ParityError("steps is missing: say how many, as grads is a function.")
        return known
    if steps < 0 or (known is not None and steps > known):
        problem = "give a number from 0 up" if known is None else f"there are gradients for {known}"
        raise ParityError(f"steps={steps}: {problem}.")
    return steps


def _start(params: Any, sides: tuple[Side, Side]) -> Any:
    own = [each.params for each in sides if each.params is not None]
    if params is None and not own:
        raise ParityError("params is missing: neither side brings parameters to start from.")
    if params is None:
        return own[0]
    if all(_shapes(params) == _shapes(each) for each in own):
        return params
    raise ParityError(
        "A side that is an Optimizer or a TrainState starts from its own parameters, and those"
        " given are not like them; leave out params, and the other side starts from them"
        " too."
    )


def _shapes(params: Any) -> list[Any]:
    return [np.shape(leaf) for leaf in jax.tree.leaves(params)]


def _parting(run: Lockstep, tracks: list[Track], excess: list[Series]) -> Parting | None:
    place = partings.first_place(tracks, excess)
    if place is None:
        return None
    step, row = place
    return partings.parting(step, tracks[row], run.arrays_after(step, row))
