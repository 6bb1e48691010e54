"""The survey of all optimizers: what it measures, and how it says it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from flaxoptim_compat.catalogue import BY_NAME
from flaxoptim_compat.parity import survey
from flaxoptim_compat.parity.survey import NAMESAKES, Matrix, matrix
from tests.support.oracle.in_process import genuine_optim

SOME = ("RMSProp(0.01)", "Adam(0.01)", "WeightNorm(", "MultiOptimizer(")


@pytest.fixture(scope="module")
def some() -> tuple[Matrix, list[tuple[int, int]]]:
    """Four of the rows, which show all there is to show, against the genuine flax.optim."""
    chosen = tuple(
        each for each in NAMESAKES if each.legacy.removeprefix("optim.").startswith(SOME)
    )
    done: list[tuple[int, int]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survey, "NAMESAKES", chosen)
        patch.setattr(survey, "find", genuine_optim)
        found = matrix(progress=lambda *counts: done.append(counts))
    return found, done


def test_ours_is_the_genuine_one_and_the_namesake_is_not(some: Any) -> None:
    found, done = some
    assert found.equal and all(row.ours.equal for row in found.rows)
    assert done == [(1, 4), (2, 4), (3, 4), (4, 4)]
    adam, rmsprop, weight_norm, multi = found.rows
    assert adam.namesake.equal and not rmsprop.namesake.equal and not multi.namesake.equal
    assert [cause.key for cause in rmsprop.namesake.causes] == ["eps-inside-root"]
    # Where gradients are far below eps, eps inside the root makes another optimizer.
    assert 0.5 < survey.final_error(rmsprop.namesake) < 1.5
    assert weight_norm.namesake is None
    assert [cause.key for cause in multi.namesake.causes] == ["raw-gradient-on-unmatched"]


def test_what_is_exact_is_exact(some: Any) -> None:
    found, _ = some
    exact = {row.legacy: row.exact for row in found.rows}
    assert exact["optim.Adam(0.01)"] == "optax.adam(0.01)"
    assert exact["optim.RMSProp(0.01)"].startswith("optax.rmsprop(0.01, ")
    assert "eps_in_sqrt=False" in exact["optim.RMSProp(0.01)"]


def test_the_table(some: Any) -> None:
    found, _ = some
    text = str(found)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 120
    assert lines[0].startswith("The genuine flax.optim against plain optax")
    (line,) = (line for line in lines if line.startswith("RMSProp(0.01)"))
    assert re.fullmatch(r"RMSProp\(0.01\) +[\d.]+e-01 PARTS  \S+ +eps-inside-root", line)
    assert "is not optax.rmsprop(0.01)" in text
    assert "The second side puts eps inside the square root" in text
    assert "to_optax does what flax.optim did, for all of these optimizers." in lines
    assert lines[-1].startswith("jax ")


def test_every_class_of_flax_optim_has_a_row() -> None:
    made = {each.legacy.removeprefix("optim.").split("(")[0] for each in NAMESAKES}
    assert made == {*BY_NAME, "MultiOptimizer"}
