"""Every public name of jax 0.4.13 and flax 0.5.3 is there, or is served, or says what to do."""

from __future__ import annotations

import json
import warnings
from typing import Any

import jax
import pytest

import flaxoptim_compat
from flaxoptim_compat.legacy.names.gone_for_good import GONE
from tests.legacy.cases.old_names import exists
from tests.support.oracle.environments import run_in_old_environment
from tests.support.places import OLD_ENVIRONMENT


@pytest.fixture(scope="module")
def names(old_environment: Any) -> set[str]:
    """The full names that were there."""
    found = json.loads(run_in_old_environment(OLD_ENVIRONMENT / "all_names.py").stdout)
    return {f"{module}.{name}" for module, names in found.items() for name in names}


def says_what_to_do(name: str) -> bool:
    """Whether the name, or the module that had it, is gone for good."""
    return name in GONE or name.rpartition(".")[0] in GONE


def test_every_name_is_there_or_is_served_or_is_gone_for_good(names: set[str]) -> None:
    assert len(names) > 3000
    with flaxoptim_compat.installed(era=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = {name for name in names if not says_what_to_do(name) and not exists(name)}
    if jax.__version_info__ < (0, 4, 36):
        # jax had it for itself in another place then.
        missing.discard("jax.interpreters.xla.AxisEnv")
    assert not missing
