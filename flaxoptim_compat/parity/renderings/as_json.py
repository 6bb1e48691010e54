"""A report as JSON, for programs.

Strict JSON has no token for NaN and infinity, so these are the strings ``"NaN"``, ``"Infinity"``
and ``"-Infinity"``, which both Python's ``float`` and JavaScript's ``Number`` read. Everything else
is a number, rounded to six significant digits in a series.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from flaxoptim_compat.parity.findings import Findings, Parting, Track
from flaxoptim_compat.parity.renderings.rows import ArrayRow, rows
from flaxoptim_compat.parity.renderings.wording import details, headline, value_text
from flaxoptim_compat.parity.tolerance import Series

FORMAT = "flaxoptim_compat.parity/1"
# So many arrays have their series in the report: about 40 MB for 1000 steps.
_SERIES = 1000


def to_json(report: Findings) -> str:
    """The whole report.

    Each of ``arrays``, the worst one first, has the largest values over all steps in ``worst``, and
    in ``series`` the values after as many steps as in ``steps``: ``error``, ``allowed``,
    ``distance`` and ``largest``. The relative error is ``error / largest``, that of the distance
    ``error / distance``. The series are null where there is never an error, and in all arrays but
    the 1000 worst.
    """
    return json.dumps(
        {
            "format": FORMAT,
            "summary": f"{headline(report)} {details(report)}".rstrip(),
            "equal": report.equal,
            "identical": report.identical,
            "names": list(report.names),
            "steps": report.steps,
            "loop": report.loop,
            "tolerance": {name: _number(each) for name, each in vars(report.tolerance).items()},
            "first_difference": _parting(report.first_difference),
            "first_parting": _parting(report.first_parting),
            "causes": list(map(vars, report.causes)),
            "notes": list(report.notes),
            "versions": dict(report.versions),
            "arrays": [
                _array(row, report, index < _SERIES) for index, row in enumerate(rows(report))
            ],
        },
        allow_nan=False,
    )


def _array(row: ArrayRow, report: Findings, with_series: bool) -> dict[str, Any]:
    track = row.track
    return {
        "leaf": track.leaf,
        "quantity": track.quantity,
        "names": list(track.names),
        "shape": list(track.shape),
        "dtype": str(track.dtype),
        "worst": {name: _number(value) for name, value in row.worst.items()},
        "not_finite": row.not_finite,
        "not_finite_step": row.not_finite_step,
        "first_difference": row.first_difference,
        "first_parting": row.first_parting,
        "series": _series(track, report) if with_series and not row.identical else None,
    }


def _series(track: Track, report: Findings) -> dict[str, list[Any]]:
    return {
        "steps": list(map(int, track.steps)),
        "error": _rounded(track.error),
        "allowed": _rounded(track.allowed(report.tolerance)),
        "distance": _rounded(track.distance),
        "largest": _rounded(track.largest),
    }


def _rounded(series: Series) -> list[Any]:
    values = [float(f"{value:.6g}") for value in series.tolist()]
    return values if np.isfinite(series).all() else list(map(_number, values))


def _parting(parting: Parting | None) -> dict[str, Any] | None:
    if parting is None:
        return None
    values = [value_text(v) if np.iscomplexobj(v) else _number(float(v)) for v in parting.values]
    return {**vars(parting), "values": values, "ulps": _number(parting.ulps)}


def _number(value: float | None) -> float | str | None:
    if value is None or math.isfinite(value):
        return value
    return str(value).replace("nan", "NaN").replace("inf", "Infinity")
