"""The sentences of a report, which all its renderings share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flaxoptim_compat.parity.findings import PARAMETER, Findings, Parting, Track
from flaxoptim_compat.parity.renderings.rows import METRICS, ArrayRow
from flaxoptim_compat.printable import one_line

HEADINGS = ("leaf", "quantity", *METRICS.values(), "parts at")
_MEANINGS = {
    "error": "the largest absolute difference of two elements of the array, over all steps",
    "relative": "the error, in parts of the largest value that the array has had by then",
    "ulp": "the error, in units in the last place of this largest value",
    "of distance": "the error, in parts of the farthest that an element was from its start by then",
    "parts at": "the step after which the error is first more than allowed; 0 is before any step",
}
UNKNOWN_CAUSE = "No known cause explains the difference."
_LOOPS = {
    "open": "Both sides were given the same gradients.",
    "closed": "Each side's gradients were taken at its own parameters.",
    "recorded": "Each side is a run of a program, with its own gradients.",
}


def headline(report: Findings) -> str:
    """The verdict in one sentence."""
    parting = report.first_parting
    if parting is not None:
        return f"The two runs PART {_when(parting, report)}, in {_place(parting, report)}."
    if not report.tracks:
        return "There is nothing to compare: the parameters hold no arrays."
    if report.identical:
        return f"The two runs are identical, bit for bit, {_at_each(report)}."
    return f"The two runs agree within the tolerance {_at_each(report)}."


def details(report: Findings) -> str:
    """The size of the difference, in sentences after the verdict; empty without a difference."""
    parting, difference = report.first_parting, report.first_difference
    sentences = (
        [] if parting is None else [f"There {_apart(parting)}{_allowed_there(parting, report)}."]
    )
    if difference is not None and (parting is None or difference.step < parting.step):
        sentences.append(
            f"The first bit differs {_when(difference, report)}, in {_place(difference, report)}:"
            f" there {_apart(difference)}."
        )
    return " ".join(sentences)


def _at_each(report: Findings) -> str:
    if not report.steps:
        return "before the first step, and no step was done"
    if report.compared < report.steps:
        return f"at each of {report.compared} steps that were compared, of {report.steps}"
    return "after 1 step" if report.steps == 1 else f"at each of {report.steps} steps"


def title_of_causes(report: Findings) -> str:
    """The heading of the causes."""
    return "Likely cause" if len(report.causes) == 1 else "Likely causes, all of them together"


def _when(parting: Parting, report: Findings) -> str:
    """The step at which two runs part, in words."""
    if not parting.step:
        return "before the first step"
    return f"at step {parting.step} of {report.steps}"


def _place(parting: Parting, report: Findings) -> str:
    """The array in which two runs part, with the name of a moment on either side."""
    path = one_line(leaf_name(parting.leaf))
    if parting.quantity == PARAMETER:
        return path
    track = report.track_of(parting)
    name = quantity_name(track) if track else parting.quantity
    return f"{one_line(name)} of {path}"


def element(parting: Parting, report: Findings) -> str:
    """The array in which two runs part, with the index of the element that differs most."""
    index = f"[{', '.join(map(str, parting.index))}]" if parting.index else ""
    return f"{_place(parting, report)}{index}"


def _apart(parting: Parting) -> str:
    """The distance of the two values, in words."""
    if parting.not_finite == "both":
        return "neither side is finite, and they are not the same"
    if parting.not_finite is not None:
        return f"the {parting.not_finite} side alone is not finite"
    if not np.isfinite(parting.ulps):
        return "two elements are not the same"
    if not parting.values:
        return f"elements are usually about {count(parting.ulps)} units in the last place apart"
    if not parting.ulps:
        # The two sides have different dtypes, and ulps are those of the coarser one.
        return "two elements are less than a unit in the last place apart"
    unit = "unit" if parting.ulps == 1 else "units"
    return f"two elements are {count(parting.ulps)} {unit} in the last place apart"


def _allowed_there(parting: Parting, report: Findings) -> str:
    track = report.track_of(parting)
    if track is None or parting.not_finite is not None:
        return ""
    entry = track.entry_of(parting.step)
    most, error = track.allowed(report.tolerance)[entry], track.error[entry]
    if not most:
        return ", and no difference is allowed"
    return f", with an error of {number(error)} where {number(most)} is allowed"


def leaf_name(path: str) -> str:
    """The path of a leaf for people; parameters that are one bare array have an empty path."""
    return path or "(the only array)"


def quantity_name(track: Track) -> str:
    """The names that both sides give a quantity."""
    if track.quantity == PARAMETER:
        return PARAMETER
    return " / ".join(dict.fromkeys(track.names))


def _tolerance(report: Findings) -> str:
    """The tolerance, in words."""
    tolerance = report.tolerance
    if tolerance.exact:
        return "no difference at all"
    shares = [f"{tolerance.relative:g}"] if tolerance.relative is not None else _default(report)
    share = f"{' or '.join(shares)} of the distance"
    rounding = f"{tolerance.roundings:g}·√step ulp"
    if not tolerance.roundings:
        return share
    text = rounding if tolerance.relative == 0 else f"{share}, or {rounding}, whichever is more"
    grows = any(track.grown is not None for track in report.tracks)
    return f"{text}; more where one ulp grows to more" if grows else text


def _default(report: Findings) -> list[str]:
    """The part of the distance that is allowed by default, for each dtype."""
    dtypes = dict.fromkeys(track.dtype for track in report.tracks) or {np.dtype(np.float32): None}
    shares = {
        str(dtype): float(report.tolerance.allowed(np.ones(1), np.zeros(1), dtype)[0])
        for dtype in dtypes
    }
    if len(set(shares.values())) == 1:
        return [f"{next(iter(shares.values())):.2g}"]
    return [f"{share:.2g} ({name})" for name, share in shares.items()]


def loop_text(report: Findings) -> str:
    """A sentence on where the gradients of both sides were taken."""
    return _LOOPS.get(report.loop, report.loop)


def versions_text(versions: Mapping[str, str]) -> str:
    """The versions of packages, in a line."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def meanings(shown: Sequence[ArrayRow], report: Findings) -> dict[str, str]:
    """The meanings of the columns of a table, and of "inf" and "allowed"."""
    entries = dict(_MEANINGS)
    worst = [value for row in shown if row.not_finite is None for value in row.worst.values()]
    if np.isinf(worst).any():
        entries["inf"] = "the first side has not moved, so there is nothing to measure by"
    return {**entries, "allowed": _tolerance(report)}


def rest_of(hidden: Sequence[ArrayRow]) -> str:
    """A line about the rows that are not shown."""
    parting = sum(row.parts for row in hidden)
    if parting:
        kind = f"{parting:,} of which {'parts' if parting == 1 else 'part'}"
    elif all(row.identical for row in hidden):
        kind = "identical bit for bit"
    else:
        kind = "none of which parts"
    return f"and {len(hidden):,} more, {kind}"


def number(value: float) -> str:
    """The text of an error, with three digits."""
    return f"{value:.2e}" if value else "0"


def count(value: float) -> str:
    """The text of a number of units in the last place."""
    if 1000 <= value < 1e6:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 1000 else f"{value:.2e}"


def cells(row: ArrayRow) -> list[str]:
    """The cells below the headings; where an array is not finite, words for all errors."""
    errors = [(count if name == "ulps" else number)(row.worst[name]) for name in METRICS]
    if row.not_finite is not None:
        errors = [f"{row.not_finite}, step {row.not_finite_step}"]
    step = "-" if row.first_parting is None else str(row.first_parting)
    return [one_line(leaf_name(row.track.leaf)), one_line(quantity_name(row.track)), *errors, step]


def value_text(value: Any) -> str:
    """The text of a value, with all the digits that tell it from its neighbours."""
    return str(value[()] if isinstance(value, np.ndarray) else value)
