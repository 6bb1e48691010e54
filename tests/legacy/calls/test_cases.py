"""Old calls give what they gave with the genuine jax 0.4.13 and flax 0.5.3."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jax
import pytest

import flaxoptim_compat
from flaxoptim_compat.legacy.calls.tables import ENTRIES, METHODS
from tests.legacy.cases import calls as call_cases
from tests.legacy.cases import old_names
from tests.legacy.cases.old_names import RUN_NAMES
from tests.support.oracle.environments import run_in_old_environment

# Where jax still takes an old call, it says for how long.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*deprecated:DeprecationWarning",
    "ignore:In a future release of JAX, flatten-up-to:DeprecationWarning",
)

# Of releases before the old environment, or of what that cannot do: see test_older.py.
ELSEWHERE = {
    *("jax.Array.to_py()", "jax.numpy.broadcast_to", "jax.lax.linalg.lu_pivots_to_permutation"),
    *("jax.scipy.special.betaln", "flax.linen.remat", "flax.training.checkpoints.save_checkpoint"),
    *("flax.linen.Module.make_rng", "flax.linen.Module.variable"),
    *(f"flax.linen.Module.{verb}_variable" for verb in ("get", "has", "put")),
}


@pytest.fixture(scope="module")
def genuine(old_environment: Any) -> dict[str, Any]:
    """What comes of the cases in jax 0.4.13 and flax 0.5.3."""
    done = run_in_old_environment(RUN_NAMES, call_cases.__name__)
    found: dict[str, Any] = json.loads(done.stdout)["outcomes"]
    return found


@pytest.fixture(scope="module")
def served() -> Iterator[None]:
    with flaxoptim_compat.installed(era=True), jax.threefry_partitionable(False):
        yield


def test_every_row_has_a_case() -> None:
    shown = {row.shown for row in ENTRIES} | {row.old for row in METHODS}
    assert {name.partition(":")[0] for name in call_cases.CASES} == shown - ELSEWHERE


@pytest.mark.parametrize("name", call_cases.CASES)
def test_an_old_call_is_served(name: str, served: None) -> None:
    assert "raised" not in old_names.outcome(call_cases.CASES[name], old_names.look_up)


@pytest.mark.parametrize("name", call_cases.CASES)
def test_it_gives_what_it_gave(name: str, served: None, genuine: dict[str, Any]) -> None:
    mine = json.loads(json.dumps(old_names.outcome(call_cases.CASES[name], old_names.look_up)))
    assert mine == genuine[name]
