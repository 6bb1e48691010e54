"""Expressions in arguments: what is a number, what may act, and what has one value for good."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from flaxoptim_compat.migrate.editing.edits import Edit, apply_edits
from flaxoptim_compat.migrate.optax_text.binding import Refused, bind
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
    "text",
    [
        "x",
        "1e-3 * 3",
        "-None",
        "1j",
        "'1'",
    ],
)
def test_what_is_no_literal(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        literal(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("cfg.rate * float(x)", False),
        ("cfg.get('rate', 0.1)", False),
        ("getattr(cfg, 'rate')", False),
        ("queue.get()", True),
        ("rate()", True),
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
        ("pass", []),
        ("eps = decay", []),
        ("decay = decay + 1", ["weight_decay"]),
        ("decay += 1", ["weight_decay"]),
        ("for beta in rates: pass", ["beta"]),
        ("print(decay := 3)", ["weight_decay"]),
        ("[decay for decay in rates]", []),
        ("global beta\n    beta = 1", ["beta"]),
        ("del decay", ["weight_decay"]),
        ("import decay", ["weight_decay"]),
        ("def change():\n        nonlocal decay\n        decay = 1", ["weight_decay"]),
        ("def keep():\n        decay = 1", []),
        ("with rates as (beta, decay): pass", ["beta", "weight_decay"]),
    ],
)
def test_names_that_have_one_value_are_read_where_they_are_needed(
    statement: str, static: list[str]
) -> None:
    text = BEFORE.format(statement)
    if "global" in statement:
        text = text.replace("(beta, decay", "(decay")
    assert static_arguments(text, ["learning_rate"]) == static


def static_arguments(text: str, injected: list[str]) -> list[str]:
    each = document(text)
    call = next(node for node in ast.walk(each.tree) if is_constructor(node))
    bound = bind(call, call.func.attr)  # type: ignore[attr-defined]
    assert not isinstance(bound, Refused)
    parts = chain(bound, each, NAMES.__getitem__, injected)
    new = apply_edits(text, [Edit(*each.span(call), parts)])
    ast.parse(new)
    after = new.rpartition("(learning_rate=")[2]
    return [name for name in ("beta", "weight_decay") if f"{name}=" in after]


def is_constructor(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="optim"))):
            return True
    return False


@pytest.mark.parametrize(
    ("text", "static"),
    [
        ("b = 0.8\ntx = optim.LARS(beta=b)\n", []),
        ("for b in (1, 2):\n  tx = optim.LARS(beta=b)\n", ["beta"]),
        ("while True:\n  b = read()\n  tx = optim.LARS(beta=b)\n", ["beta"]),
        (
            "if x:\n  b = 1\nelse:\n  b = 2\ntx = optim.LARS(beta=b)\n",
            ["beta"],
        ),
        ("class A:\n  b = 0.8\n  tx = optim.LARS(beta=b)\n", ["beta"]),
        ("txs = [optim.LARS(beta=b) for b in rates]\n", ["beta"]),
        ("try: f()\nexcept E as b: tx = optim.LARS(beta=b)\n", ["beta"]),
        ("f([b := each for each in x])\ntx = optim.LARS(beta=b)\n", ["beta"]),
        ("b: float\ntx = optim.LARS(beta=b)\n", ["beta"]),
        ("make = lambda b: optim.LARS(beta=b)\n", []),
        ("tx = optim.LARS(beta=unknown)\n", ["beta"]),
        ("from settings import b\ntx = optim.LARS(beta=b)\n", ["beta"]),
        ("b = 1\ntx = optim.LARS(beta=-b)\n", ["beta"]),
        # Its name is that of an argument of the lambda.
        (
            "learning_rate = 1\ntx = optim.LARS(beta=learning_rate)\n",
            ["beta"],
        ),
    ],
)
def test_where_a_name_has_one_value(text: str, static: list[str]) -> None:
    assert static_arguments(text, ["learning_rate"]) == static


def test_a_name_that_an_argument_of_the_lambda_would_hide() -> None:
    text = """\
def make(beta1, other):
    return optim.AdaBelief(beta1=other.beta, beta2=beta1, weight_decay=0.1)
"""
    each = document(text)
    call = next(node for node in ast.walk(each.tree) if is_constructor(node))
    bound = bind(call, "AdaBelief")  # type: ignore[arg-type]
    assert not isinstance(bound, Refused)
    parts = chain(bound, each, NAMES.__getitem__, ["learning_rate"])
    new = apply_edits(text, [Edit(*each.span(bound.call), parts)])
    assert "lambda learning_rate, beta1, beta2: optax.chain(" in new
    assert "optax.scale_by_belief(b1=beta1, b2=beta2)," in new
    assert new.endswith("(learning_rate=0.0, beta1=other.beta, beta2=beta1)\n")
