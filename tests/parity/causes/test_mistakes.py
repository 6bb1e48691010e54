"""A known mistake, written as its author would have written it in plain optax, is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import pytest

from flaxoptim_compat.parity import Tolerance, compare
from flaxoptim_compat.parity.causes import Context, find
from flaxoptim_compat.parity.gradients import Gradients
from flaxoptim_compat.parity.overrides import Overrides
from tests.support.options import each
from tests.support.planted_mistakes import GRADS, KERNEL, PLANTED, STEPS, Planted


class Unconfirmed(Context):
    """Takes what keeps up step by step for the cause, without a compiled run to confirm it."""

    def confirms(self, first: Any, second: Any) -> bool:
        del first, second
        return True


def never(first: Any, second: Any, steps: int) -> Any:
    raise AssertionError("Nothing is to be compiled.")


def found_by_racing(planted: Planted, grads: Any, leaves: Sequence[int] = (0,)) -> set[str]:
    context = Unconfirmed(
        params=planted.params,
        grads=Gradients("open", known=grads.__getitem__, count=STEPS),
        overrides=Overrides({}, {}),
        functions={},
        steps=STEPS,
        parted=1,
        leaves=leaves,
        tolerance=Tolerance(),
        runs=never,
    )
    return {cause.key for cause in find(planted.legacy, planted.other, context)}


# Those that compiling could change, and what test_search.py does not have.
COMPILED = (
    "adagrad, large eps",
    "adadelta",
    "lamb",
    "lars",
    "uncorrected",
    "mu_dtype",
    "second moment",
    "momentum of adafactor",
)


@pytest.mark.parametrize("name", PLANTED)
def test_the_mistake_keeps_up_with_the_other_side(name: str) -> None:
    planted = PLANTED[name]
    assert found_by_racing(planted, GRADS[id(planted.params)]) == set(planted.keys.split())


# More numbers than are looked at if a smaller parameter tells as much.
LARGE = jnp.zeros((2, 2**16 + 1))


@pytest.mark.parametrize("name", each(["adagrad, large eps", "lamb"], ["lamb"]))
def test_in_a_large_model(name: str) -> None:
    # Of LAMB, only the large parameter parts: it is the only one of zeros.
    leaves = (0,) if name == "lamb" else (0, 1)
    params = {"a": LARGE, **KERNEL}
    grads = [{"a": jnp.ones_like(LARGE), **each} for each in GRADS[id(KERNEL)]]
    planted = PLANTED[name]._replace(params=params)
    assert found_by_racing(planted, grads, leaves) == set(planted.keys.split())


@pytest.mark.parametrize("name", each(COMPILED, ["lamb", "lars", "uncorrected"]))
def test_the_report_names_the_mistake(name: str) -> None:
    planted = PLANTED[name]
    report = compare(planted.legacy, planted.other, planted.params, GRADS[id(planted.params)])
    assert not report.equal
    assert {cause.key for cause in report.causes} == set(planted.keys.split())
    assert all(cause.summary.startswith("The second side ") for cause in report.causes)
