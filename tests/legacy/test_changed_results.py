"""Calls that nothing serves, because jax takes them, and answers otherwise: a program is warned."""

from __future__ import annotations

import json
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import flaxoptim_compat
from flaxoptim_compat import FlaxOptimDeprecationWarning
from flaxoptim_compat.legacy.calls.tables import ANSWERS_BY_MODULE
from tests.legacy.cases import changed_results
from tests.legacy.cases.changed_results import ROWS, before_of, result
from tests.legacy.cases.old_names import RUN_NAMES, look_up
from tests.support.oracle.environments import run_in_old_environment

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


@pytest.mark.parametrize("call", ROWS)
def test_what_stands_for_it_gives_what_it_gave(call: str, genuine: dict[str, Any]) -> None:
    assert is_same(result(call, before_of(call), look_up), genuine[call])


def today(call: str) -> tuple[Any, list[str]]:
    """What a call gives under the era, and the warnings."""
    with flaxoptim_compat.installed(era=True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = result(call, call, look_up)
        except ValueError:
            found = []
    ours = [each for each in caught if each.category is FlaxOptimDeprecationWarning]
    return found, [str(each.message) for each in ours]


@pytest.mark.parametrize("call", ROWS)
def test_it_warns_where_it_gives_something_else(call: str) -> None:
    found, warned = today(call)
    differs = not is_same(found, result(call, before_of(call), look_up))
    row = ROWS[call]
    assert warned == [row.notice] * (differs and bool(row.told_by))
    if jax.__version_info__ >= (0, 10):
        assert differs


def test_calls_with_the_same_answer_do_not_warn() -> None:
    matrices, x = jnp.stack([jnp.eye(2), 2 * jnp.eye(2)]), jnp.arange(4.0)
    with flaxoptim_compat.installed(era=True), warnings.catch_warnings():
        warnings.simplefilter("error", FlaxOptimDeprecationWarning)
        assert jnp.linalg.solve(matrices[0], x[:2]).shape == (2,)
        assert jnp.linalg.solve(matrices, x.reshape(2, 2, 1)).shape == (2, 2, 1)
        assert jax.jit(jnp.floor)(x).dtype == jnp.floor(2.5).dtype == x.dtype
        assert jnp.sign(x).tolist() == [0, 1, 1, 1]
        assert jnp.unique(x, return_inverse=True)[1].shape == (4,)
        assert jnp.unique(x.reshape(2, 2), return_inverse=True, axis=0)[1].size == 2
        assert jnp.unique(x.reshape(2, 2)).shape == (4,)
        assert jax.scipy.linalg.toeplitz(x).shape == (4, 4)


def test_everything_is_as_before_afterwards() -> None:
    rows = [row for rows in ANSWERS_BY_MODULE.values() for row in rows]
    before = [look_up(row.name) for row in rows]
    with flaxoptim_compat.installed(era=True):
        during = [look_up(row.name) for row in rows]
        assert all(now is not was for now, was in zip(during, before, strict=True))
        assert all({*dir(was)} <= {*dir(now)} for now, was in zip(during, before, strict=True))
    assert [look_up(row.name) for row in rows] == before
