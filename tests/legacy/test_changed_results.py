"""What the guide says of calls that nothing serves: jax takes them, and answers otherwise."""

from __future__ import annotations

import json
from typing import Any

import jax
import numpy as np
import pytest

from tests.support import changed_results
from tests.support.changed_results import REPLACED, result
from tests.support.old_names import RUN_NAMES, look_up
from tests.support.oracle.environments import run_in_old_environment
from tests.support.places import ROOT

IN_SCOPE = {"inf": float("inf"), "nan": float("nan")}


def is_same(mine: Any, theirs: Any) -> bool:
    return len(mine) == len(theirs) and all(
        one[:2] == other[:2] and np.allclose(one[2], other[2], rtol=1e-6, equal_nan=True)
        for one, other in zip(mine, theirs, strict=True)
    )


@pytest.fixture(scope="module")
def genuine(old_environment: Any) -> dict[str, Any]:
    """What the calls give in jax 0.4.13."""
    done = run_in_old_environment(RUN_NAMES, changed_results.__name__)
    outcomes = json.loads(done.stdout)["outcomes"]
    return {name: [eval(each, IN_SCOPE) for each in found[1:]] for name, found in outcomes.items()}


@pytest.mark.parametrize("call", REPLACED)
def test_what_stands_for_it_gives_what_it_gave(call: str, genuine: dict[str, Any]) -> None:
    assert is_same(result(REPLACED[call], look_up), genuine[call])


@pytest.mark.skipif(jax.__version_info__ < (0, 10), reason="the guide is about the newest versions")
@pytest.mark.parametrize("call", REPLACED)
def test_today_it_gives_something_else(call: str) -> None:
    try:
        today = result(call, look_up)
    except ValueError:
        return
    assert not is_same(today, result(REPLACED[call], look_up))


def test_the_guide_has_each() -> None:
    page = (ROOT / "migration_guide" / "old_programs.md").read_text()
    assert not [call for pair in REPLACED.items() for call in pair if f"`{call}`" not in page]
