"""A comparison as JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from flaxoptim_compat.parity.renderings.as_json import to_json
from tests.support import parity_reports
from tests.support.parity_reports import DECAY, EPS, report, track


def parsed(text: str) -> Any:
    """JSON that has no NaN and no Infinity as tokens."""
    return json.loads(text, parse_constant=lambda token: pytest.fail(f"{token} is not JSON"))


def test_everything_is_there() -> None:
    found = parity_reports.small()
    read = parsed(to_json(found))
    assert read["format"] == "flaxoptim_compat.parity/1"
    assert read["summary"].startswith("The two runs PART at step 6 of 20, in dense/kernel. There")
    assert (read["equal"], read["identical"]) == (False, False)
    assert read["names"] == ["optim.RMSProp(0.01)", "optax.rmsprop(0.01)"]
    assert (read["steps"], read["loop"]) == (20, "closed")
    assert read["tolerance"] == {"relative": None, "roundings": 8.0}
    assert read["causes"] == [{"key": EPS.key, "summary": EPS.summary, "remedy": EPS.remedy}]
    assert read["versions"] == dict(found.versions)
    assert found.first_parting is not None
    assert read["first_parting"] == {
        "step": 6,
        "leaf": "dense/kernel",
        "quantity": "parameter",
        "index": [2, 1],
        "values": [0.5, float(found.first_parting.values[1])],
        "ulps": found.first_parting.ulps,
        "not_finite": None,
    }
    assert read["first_difference"]["step"] == 1


def test_an_array() -> None:
    found = report(track("w", {2: 0.25, 3: 0.5}, "nu", ("v", "nu"), steps=3), steps=3)
    [array] = parsed(to_json(found))["arrays"]
    assert array == {
        "leaf": "w",
        "quantity": "nu",
        "names": ["v", "nu"],
        "shape": [3, 4],
        "dtype": "float32",
        "worst": {"error": 0.5, "relative": 0.5, "ulps": 2.0**22, "to_distance": 0.5 / 0.03},
        "not_finite": None,
        "not_finite_step": None,
        "first_difference": 2,
        "first_parting": 2,
        "series": {
            "steps": [0, 1, 2, 3],
            "error": [0.0, 0.0, 0.25, 0.5],
            "allowed": [float(f"{8 * t**0.5 * 2**-23:.6g}") for t in range(4)],
            "distance": [0.0, 0.01, 0.02, 0.03],
            "largest": [1.0, 1.0, 1.0, 1.0],
        },
    }
    # Series have six digits.
    [array] = parsed(to_json(report(track(error=1 / 3))))["arrays"]
    assert set(array["series"]["error"]) == {0.0, 0.333333}
    assert array["worst"]["error"] == 1 / 3


def test_what_is_not_finite_is_a_string_that_python_and_javascript_read() -> None:
    read = parsed(to_json(parity_reports.with_nan()))
    assert read["first_parting"]["values"] == [0.25, "NaN"]
    first, _, infinite, finite = read["arrays"]
    assert first["leaf"] == "dense/kernel" and first["worst"]["error"] == "NaN"
    assert (first["not_finite"], first["not_finite_step"]) == ("NaN in the second only", 700)
    assert first["series"]["error"][699:701] == [0.0, "NaN"]
    assert infinite["worst"]["error"] == "Infinity"
    assert finite["not_finite"] is None and finite["worst"]["error"] == 6e-8


def test_values_of_any_kind() -> None:
    for values, expected in [
        ((1 + 2j, 1 - 2j), ["(1+2j)", "(1-2j)"]),
        ((np.int32(3), np.int32(4)), [3.0, 4.0]),
        ((np.float32("-inf"), np.asarray(2.0)), ["-Infinity", 2.0]),
    ]:
        read = parsed(to_json(report(track(error=1.0), values=values)))
        assert read["first_parting"]["values"] == expected


def test_only_the_worst_thousand_have_series() -> None:
    found = report(*(track(f"leaf{i}", 1e-9 * (i + 1), steps=2) for i in range(1010)), steps=2)
    arrays = parsed(to_json(found))["arrays"]
    assert len(arrays) == 1010
    assert [array["leaf"] for array in arrays if array["series"] is None] == [
        f"leaf{i}" for i in range(9, -1, -1)
    ]


def test_any_name_several_causes_no_steps_and_no_arrays() -> None:
    found = parity_reports.hostile()
    read = parsed(to_json(found).encode().decode())
    assert read["names"][0] == parity_reports.HOSTILE
    assert {array["leaf"] for array in read["arrays"]} == {each.leaf for each in found.tracks}
    read = parsed(to_json(report(track(error=1e-3), causes=[EPS, DECAY])))
    assert [cause["key"] for cause in read["causes"]] == [EPS.key, DECAY.key]
    read = parsed(to_json(parity_reports.identical()))
    assert read["identical"] and read["first_difference"] is None
    assert [array["series"] for array in read["arrays"]] == [None, None]
    bare = parsed(to_json(parity_reports.bare()))
    assert (bare["steps"], bare["arrays"][0]["leaf"]) == (0, "")
    assert parsed(to_json(report()))["arrays"] == []
