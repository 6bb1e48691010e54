"""Expressions in arguments: what is a number, what may act, and what has one value for good."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from flaxoptim_compat.migrate.editing.edits import Edit, apply_edits
from flaxoptim_compat.migrate.optax_text.binding import bind
from flaxoptim_compat.migrate.optax_text.program_expressions import literal, may_act
from flaxoptim_compat.migrate.optax_text.text import chain
from tests.support.optax_texts import NAMES, document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-1", -1),
        ("2.5", 2.5),
        ("None", None),
    ],
)
def test_literals(text: str, value: Any) -> None:
    assert literal(ast.parse(text, mode="eval").body) == value


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("cfg.get('rate', 0.1)", False),
        ("getattr(cfg, 'rate')", False),
        ("queue.get()", True),
        ("[next(rates)]", True),
        ("(rate := 0.1)", True),
    ],
)
def test_what_may_act(text: str, acts: bool) -> None:
    assert may_act(ast.parse(text, mode="eval").body) is acts


BEFORE = """\
beta = 0.8
def make(beta, decay, rates):
    {}
    return optim.Momentum(beta=beta, weight_decay=decay)
"""


@pytest.mark.parametrize(
    ("statement", "static"),
    [
        ("eps = decay", []),
        ("decay = decay + 1", ["weight_decay"]),
        ("for beta in rates: pass", ["beta"]),
        ("[decay for decay in rates]", []),
        ("global beta\n    beta = 1", ["beta"]),
        ("del decay", ["weight_decay"]),
        ("def change():\n        nonlocal decay\n        decay = 1", ["weight_decay"]),
        ("with rates as (beta, decay): pass", ["beta", "weight_decay"]),
    ],
)
def test_names_that_have_one_value_are_read_where_they_are_needed(
    statement: str, static: list[str]
) -> None:
    text = BEFORE.format(statement)
    if "global" in statement:
        text = text.replace("(beta, decay", "(decay")
    assert static_arguments(text) == static


def rewritten_call(text: str) -> str:
    """The text with its constructor call in optax, whose learning rate is given with each step."""
    each = document(text)
    for node in ast.walk(each.tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="optim"), attr=name)):
                bound = bind(node, name)
                parts = chain(bound, each, NAMES.__getitem__, ["learning_rate"])
                return apply_edits(text, [Edit(*each.span(node), parts)])
    raise AssertionError(text)


def static_arguments(text: str) -> list[str]:
    new = rewritten_call(text)
    ast.parse(new)
    after = new.rpartition("(learning_rate=")[2]
    return [name for name in ("beta", "weight_decay") if f"{name}=" in after]


@pytest.mark.parametrize(
    ("text", "static"),
    [
        ("b = 0.8\ntx = optim.LARS(beta=b)\n", []),
        ("for b in (1, 2):\n  tx = optim.LARS(beta=b)\n", ["beta"]),
        ("while True:\n  b = read()\n  tx = optim.LARS(beta=b)\n", ["beta"]),
        ("try: f()\nexcept E as b: tx = optim.LARS(beta=b)\n", ["beta"]),
        ("f([b := each for each in x])\ntx = optim.LARS(beta=b)\n", ["beta"]),
        ("b: float\ntx = optim.LARS(beta=b)\n", ["beta"]),
        ("make = lambda b: optim.LARS(beta=b)\n", []),
        ("tx = optim.LARS(beta=unknown)\n", ["beta"]),
        ("b = 1\ntx = optim.LARS(beta=-b)\n", ["beta"]),
        # Its name is that of an argument of the lambda.
        (
            "learning_rate = 1\ntx = optim.LARS(beta=learning_rate)\n",
            ["beta"],
        ),
    ],
)
def test_where_a_name_has_one_value(text: str, static: list[str]) -> None:
    assert static_arguments(text) == static


def test_a_name_that_an_argument_of_the_lambda_would_hide() -> None:
    text = """\
def make(beta1, other):
    return optim.AdaBelief(beta1=other.beta, beta2=beta1, weight_decay=0.1)
"""
    new = rewritten_call(text)
    assert "lambda learning_rate, beta1, beta2: optax.chain(" in new
    assert "optax.scale_by_belief(b1=beta1, b2=beta2)," in new
    assert new.endswith("(learning_rate=0.0, beta1=other.beta, beta2=beta1)\n")
