"""An optimizer of the other package that goes on with the same numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.parity.counterparts import counterpart
from tests.support.cases import CASES, Case, case, gradients
from tests.support.side_by_side import assert_same


def hyper_params(definition: Any) -> Any:
    found = definition.hyper_params
    each = found if isinstance(found, list) else [found]
    return [dataclasses.asdict(one) for one in each]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_definition_has_the_same_hyper_params(case: Case, genuine: Any) -> None:
    ours = case.build(optim)
    assert counterpart(ours, optim) is ours
    theirs = counterpart(ours, genuine)
    expected = case.build(genuine)
    assert type(theirs) is type(expected)
    assert hyper_params(theirs) == hyper_params(expected)
    params = case.parameters()
    assert_same(theirs.init_state(params), expected.init_state(params))
    assert getattr(theirs, "dtype_momentum", None) == getattr(expected, "dtype_momentum", None)


class Adam(optim.Adam):
    """A user's own, which may do anything."""


EVERYTHING = optim.ModelParamTraversal(lambda path, leaf: True)


def test_classes_of_the_user_have_none(genuine: Any) -> None:
    assert counterpart(optim.Adam(0.1), genuine) is not None
    assert counterpart(Adam(0.1), genuine) is None
    assert counterpart(optim.WeightNorm(Adam(0.1)), genuine) is None
    assert counterpart(optim.MultiOptimizer((EVERYTHING, Adam(0.1))), genuine) is None


@pytest.mark.parametrize(
    "name", ["Adam-all", "Adafactor-all", "MultiOptimizer-two", "WeightNorm-over_Adam"]
)
def test_an_optimizer_goes_on_where_it_is(name: str, genuine: Any) -> None:
    each = case(name)
    theirs = each.build(genuine).create(each.parameters())
    for step in range(2):
        theirs = theirs.apply_gradient(gradients(step, theirs.target))
    ours = counterpart(theirs, optim)
    assert type(ours) is optim.Optimizer and ours.state.step == 2
    assert counterpart(ours, optim) is ours
    assert_same(counterpart(ours, genuine), theirs)
    grads = gradients(2, theirs.target)
    assert_same(ours.apply_gradient(grads).target, theirs.apply_gradient(grads).target, 8.0)


def test_a_copy_of_the_files_is_known_and_what_it_lacks_is_not_made_up(genuine: Any) -> None:
    class Copied:
        Momentum = genuine.Momentum
        OptimizerDef = genuine.OptimizerDef

    ours = optim.Momentum(0.1, nesterov=True)
    assert type(counterpart(ours, Copied)) is genuine.Momentum
    assert counterpart(optim.Adam(0.1), Copied) is None
