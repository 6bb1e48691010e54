"""Texts of formulas: what is injected in one function of optax, and what is recorded of them."""

from __future__ import annotations

import ast

import pytest

from flaxoptim_compat import optim, syntax
from flaxoptim_compat.catalogue import PLAIN, REQUIRED
from flaxoptim_compat.formula_text import recorded
from flaxoptim_compat.formula_text.injected_function import injected_function
from flaxoptim_compat.formula_text.stages import expression
from flaxoptim_compat.optim.formula import parameters_of
from flaxoptim_compat.optim.terms import terms_of
from tests.support.cases import CASES, Case


def written(body: str, starts: dict[str, str], static: dict[str, str]) -> str:
    def trees(texts: dict[str, str]) -> dict[str, ast.expr]:
        return {name: syntax.Quoted(text) for name, text in texts.items()}

    node = ast.parse(body, mode="eval").body
    found = injected_function(node, trees(starts), trees(static), parameters_of)
    return "" if found is None else syntax.in_one_line(found)


RATE = {"learning_rate": "0.1"}


@pytest.mark.parametrize(
    ("body", "static", "expected"),
    [
        ("optax.sgd(learning_rate)", {}, "(optax.sgd)(learning_rate=0.1)"),
        (
            "optax.sgd(learning_rate, momentum=m, nesterov=True)",
            {"m": "cfg.m"},
            '(optax.sgd, static_args="momentum")(learning_rate=0.1, momentum=cfg.m, nesterov=True)',
        ),
        # A truth value that is not known here might be an array.
        (
            "optax.sgd(learning_rate, nesterov=n)",
            {"n": "cfg.n"},
            '(optax.sgd, static_args="nesterov")(learning_rate=0.1, nesterov=cfg.n)',
        ),
        # Where a function is the value, it is no schedule.
        (
            "optax.sgd(learning_rate, accumulator_dtype=jnp.float32)",
            {},
            '(optax.sgd, static_args="accumulator_dtype")'
            "(learning_rate=0.1, accumulator_dtype=jnp.float32)",
        ),
        ("optax.chain(optax.sgd(learning_rate))", {}, ""),
        ("transforms.weight_norm(optax.sgd(learning_rate))", {}, ""),
        ("optax.sgd(rate)", {"rate": "0.1"}, ""),
        ("optax.sgd(0.1, momentum=learning_rate)", {}, ""),
        ("optax.sgd(learning_rate, momentum=f(learning_rate))", {}, ""),
        ("optax.sgd(learning_rate, momentum=f(m))", {"m": "cfg.m"}, ""),
        ("optax.sgd", {}, ""),
    ],
)
def test_what_is_written(body: str, static: dict[str, str], expected: str) -> None:
    assert written(body, RATE, static) == (expected and f"optax.inject_hyperparams{expected}")


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
