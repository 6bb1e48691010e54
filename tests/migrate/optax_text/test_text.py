"""Every optimizer of the cases, as a text of flax.optim and as the text that it becomes."""

from __future__ import annotations

import pytest

from flaxoptim_compat import optim
from tests.support import cases
from tests.support.optax_texts import (
    described,
    made,
    program_of,
    rewritten,
    rewritten_parts,
    spelled,
)
from tests.support.options import each_case

RATE = "learning_rate"


def written(case: cases.Case, text: str) -> str:
    return rewritten_parts(text) if case.optimizer == "MultiOptimizer" else rewritten(text)


@pytest.mark.parametrize("case", each_case())
def test_the_text_is_the_definition_however_it_is_spelled(case: cases.Case) -> None:
    params = case.parameters()
    expected = program_of(described(case.build(optim), params), params)
    for how in ("keywords", "positions", "names"):
        text, cfg = spelled(case, how)
        new = written(case, text)
        assert program_of(made(new, cfg=cfg), params) == expected, new
        assert "optim." not in new


def without_rate(case: cases.Case) -> cases.Case:
    kwargs = {name: value for name, value in case.kwargs.items() if name != RATE}
    inner = tuple(map(without_rate, case.inner))
    return cases.Case(case.name, case.optimizer, kwargs, "", inner, case.selectors)


@pytest.mark.parametrize("case", each_case())
def test_a_rate_that_is_given_with_each_step(case: cases.Case) -> None:
    case, params = without_rate(case), case.parameters()
    expected = program_of(described(case.build(optim), params), params)
    text, cfg = spelled(case, "names")
    if case.optimizer == "MultiOptimizer":
        new = rewritten_parts(text, [{RATE: RATE}] * len(case.inner))
    else:
        new = rewritten(text, [RATE])
    assert program_of(made(new, cfg=cfg), params) == expected, new
