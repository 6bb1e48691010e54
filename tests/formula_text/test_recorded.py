"""What is recorded of the formulas says what the classes say; that it is current is in guide."""

from __future__ import annotations

import pytest

from flaxoptim_compat import optim, syntax
from flaxoptim_compat.catalogue import PLAIN, REQUIRED
from flaxoptim_compat.formula_text import recorded
from flaxoptim_compat.formula_text.stages import expression
from flaxoptim_compat.optim.terms import terms_of
from tests.support.cases import CASES, Case


@pytest.mark.parametrize(
    "case", [each for each in CASES if each.optimizer in {row.name for row in PLAIN}], ids=str
)
def test_a_text_of_the_record_is_that_of_the_definition(case: Case) -> None:
    definition = case.build(optim)
    terms = definition.values(terms_of(definition.hyper_params))
    node = expression(recorded.stages_of(case.optimizer), terms, recorded.parameters_of)
    assert syntax.in_one_line(node) == syntax.in_one_line(definition.formula.expression(terms))


def test_a_default_that_no_text_has_is_none() -> None:
    parameters = recorded.parameters_of("optax.ema")
    assert parameters["decay"] is REQUIRED
    assert parameters["debias"] is True
