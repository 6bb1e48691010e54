"""Without a mistake, an optimizer that was taken apart is what it was."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat import compiled_steps, optim
from flaxoptim_compat.optim.kinds import KINDS
from flaxoptim_compat.parity.causes.mistaken import Mistaken
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
