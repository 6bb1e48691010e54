"""The names that flax lost beside flax.optim: each is served, and does what it did."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from typing import Any

import flax
import jax
import pytest

import flaxoptim_compat
from flaxoptim_compat.legacy.names.of_flax import ENTRIES
from tests.legacy.cases import flax_names as flax_name_cases
from tests.legacy.cases import old_names
from tests.legacy.cases.old_names import RUN_NAMES
from tests.support.oracle.environments import run_in_old_environment


def test_every_row_of_the_table_is_served():
    for entry in ENTRIES:
        assert entry.serve() is not None
        assert entry.gone_since.startswith("flax 0.")
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)


@pytest.fixture(scope="module")
def genuine(old_environment: Any) -> dict[str, Any]:
    """What comes of the cases in flax 0.5.3."""
    done = run_in_old_environment(RUN_NAMES, flax_name_cases.__name__)
    found: dict[str, Any] = json.loads(done.stdout)["outcomes"]
    return found


@pytest.fixture
def served() -> Iterator[None]:
    with flaxoptim_compat.installed(era=True), jax.threefry_partitionable(False):
        yield


@pytest.mark.parametrize("name", flax_name_cases.CASES)
def test_it_does_what_it_did_in_flax_0_5(name: str, served: None, genuine: dict[str, Any]) -> None:
    case = flax_name_cases.CASES[name]
    mine = json.loads(json.dumps(old_names.outcome(case, old_names.look_up)))
    assert "raised" not in str(mine)
    assert mine == genuine[name]


def test_the_settings_are_those_of_the_object_of_today() -> None:
    today = flax.config
    with flaxoptim_compat.installed(era=True):
        assert importlib.import_module("flax.config").flax_profile is today.flax_profile
        assert flax.config is today
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("flax.config")
    assert flax.config is today
