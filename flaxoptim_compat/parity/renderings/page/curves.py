"""The error of the worst arrays at each step, thinned so that a page stays small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flaxoptim_compat.parity.findings import Findings, Series
from flaxoptim_compat.parity.renderings.rows import (
    METRICS,
    Row,
    allowed,
    index_of,
    measured,
    thinned,
)
from flaxoptim_compat.parity.renderings.wording import one_line, quantity_name

CURVES = 200
POINTS = 400

# What the script finds in the place of a number.
_NOT_FINITE = "x"
_NOTHING_TO_MEASURE_BY = "i"


def curves(ranked: Sequence[Row], report: Findings) -> dict[str, Any]:
    """What the script draws.

    A curve has one point for every ``POINTS``-th part of the steps, with the largest error there
    and the smallest that is allowed there. The worst arrays have one, and that in which the runs
    first part.
    """
    starts = thinned(report.steps, POINTS)
    parting = report.first_parting
    first = index_of(parting, ranked)
    return {
        "starts": starts.tolist(),
        "steps": report.steps,
        "parting": None if parting is None else parting.step,
        "first": first,
        "curves": [
            _curve(index, row, report, starts)
            for index, row in enumerate(ranked)
            if not row.identical and (index < CURVES or index == first)
        ],
    }


def _curve(index: int, row: Row, report: Findings, starts: Any) -> dict[str, Any]:
    track = row.track
    passing = allowed(track, report)
    return {
        "row": index,
        "leaf": one_line(track.leaf),
        "quantity": one_line(quantity_name(track)),
        "parts": row.parts,
        "of": {name: _largest(getattr(track, name), track.error, starts) for name in METRICS},
        "allowed": {name: _smallest(measured(passing, name, track), starts) for name in METRICS},
    }


def _largest(series: Series, error: Series, starts: Any) -> list[Any]:
    not_finite = np.logical_or.reduceat(~np.isfinite(error), starts)
    values = np.fmax.reduceat(series, starts)
    return [
        _NOT_FINITE if spoilt else _entry(value)
        for value, spoilt in zip(values.tolist(), not_finite.tolist(), strict=True)
    ]


def _smallest(series: Series, starts: Any) -> list[Any]:
    return [_entry(value) for value in np.minimum.reduceat(series, starts).tolist()]


def _entry(value: float) -> float | str:
    return float(f"{value:.3g}") if np.isfinite(value) else _NOTHING_TO_MEASURE_BY
