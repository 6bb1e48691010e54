"""Expressions in arguments: which are numbers, and which may do something."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from flaxoptim_compat.migrate.optax_text.program_expressions import literal, may_act


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-1", -1),
        ("+2.5", 2.5),
        ("1 / 4", 0.25),
        ("2 ** -3", 0.125),
        ("1e-3 * 3", 0.003),
        ("None", None),
    ],
)
def test_literals(text: str, value: Any) -> None:
    assert literal(ast.parse(text, mode="eval").body) == value


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "1 / 0",
        "9 ** 9 ** 9",
        "10 ** 200",
        "2 * True",
        "-None",
        "1j",
        "'1'",
        "1 // 2",
        "(-8) ** 0.5",
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
