"""Without a mistake, an optimizer that was taken apart is what it was."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat import compiled_steps, optim
from flaxoptim_compat.optim.kinds import KINDS
from flaxoptim_compat.parity.causes.mistaken import Mistaken, with_adapted_state
from flaxoptim_compat.parity.causes.mistakes import KNOWN
from tests.support.cases import CASES, Case, gradients
from tests.support.options import TELLING, each
from tests.support.side_by_side import assert_same

STEPS = 3
# The rate is multiplied in at another place than in the chain, and so rounded: in each step, and
# once more in the momentum of LARS.
ROUNDINGS = 6.0
SINGLE = [case for case in CASES if getattr(optim, case.optimizer) in KINDS]
FEW = [case for case in TELLING if case in SINGLE]


@pytest.mark.parametrize("case", each(SINGLE, FEW))
def test_a_recipe_is_the_definition(case: Case) -> None:
    definition = case.build(optim)
    params = jax.tree.map(jnp.asarray, case.parameters())
    plain, apart = definition.create(params), Mistaken(definition, ()).create(params)
    with compiled_steps(False):
        for step in range(STEPS):
            grads = gradients(step, params)
            plain, apart = plain.apply_gradient(grads), apart.apply_gradient(grads)
    assert_same(apart.target, plain.target, ROUNDINGS)
    assert_same(apart.state, plain.state, ROUNDINGS)


def test_every_optimizer_of_a_single_kind_is_known() -> None:
    composite = {"MultiOptimizer", "WeightNorm"}
    assert {case.optimizer for case in CASES} - {case.optimizer for case in SINGLE} == composite


@pytest.mark.parametrize(
    ("definition", "key", "field", "expected"),
    [
        (optim.Adagrad(0.1), "initial-accumulator", "G", lambda old: old + 0.1),
        (
            optim.Momentum(0.1),
            "low-precision-moments",
            "momentum",
            lambda old: old.astype(jnp.bfloat16),
        ),
    ],
)
def test_an_optimizer_on_its_way_goes_on_with_the_mistake(
    definition: Any, key: str, field: str, expected: Any
) -> None:
    params = {"w": jnp.arange(1.0, 4.0)}
    optimizer = definition.create(params).apply_gradient(params)
    mistake = next(each for each in KNOWN if each.key == key and type(definition) in each.kinds)
    state = with_adapted_state(optimizer, Mistaken(definition, [mistake])).state
    old = getattr(optimizer.state.param_states["w"], field)
    assert_same(getattr(state.param_states["w"], field), expected(old))
    assert int(state.step) == 1
