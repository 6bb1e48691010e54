"""Lines of a text are broken as its place wants it."""

from __future__ import annotations

import ast
from itertools import pairwise

import pytest

from flaxoptim_compat.migrate.editing.edits import Edit, apply_edits
from flaxoptim_compat.migrate.editing.surroundings import Surroundings, hanging, indentation
from flaxoptim_compat.migrate.optax_text import binding
from flaxoptim_compat.migrate.optax_text.binding import Refused, bind
from flaxoptim_compat.migrate.optax_text.text import chain
from tests.support.optax_texts import NAMES, document, read
from tests.support.rewriting_texts import rewrite


def test_lines_are_as_long_as_those_of_the_file() -> None:
    text = """\
def make(params, config):
  return optim.Momentum(config.learning_rate, weight_decay=config.weight_decay, beta=0.8)
"""
    each = document(text)
    statement = each.tree.body[0].body[0]  # type: ignore[attr-defined]
    bound = bind(statement.value, "Momentum")
    assert not isinstance(bound, Refused)

    def changed(place: Surroundings | None) -> str:
        parts = chain(bound, each, NAMES.__getitem__, surroundings=place)
        return apply_edits(text, [Edit(*each.span(bound.call), parts)])

    assert (
        changed(None)
        == """\
def make(params, config):
  return optax.chain(
      optax.add_decayed_weights(config.weight_decay),
      optax.sgd(config.learning_rate, momentum=0.8),
  )
"""
    )
    assert changed(Surroundings(width=200)).count("\n") == 2
    assert changed(Surroundings("  ", unit=" " * 8)).count("\n          optax.") == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n  return 1\n", "    "),
        ("def f():\n  return g(\n      1, 2)\n", "    "),
        ("def f():\n  return g(\n    1, 2)\n", "  "),
        ("def f():\n  return g(\n    1, 2)\n\n\nx = [\n    1]\n", "    "),
        ("def f():\n    return 1\n", "    "),
        ("def f():\n\treturn g(\n\t\t\t1, 2)\n", "\t"),
    ],
)
def test_within_brackets_lines_are_indented_as_they_are(text: str, expected: str) -> None:
    assert hanging(document(text)) == expected


@pytest.mark.parametrize(
    ("rest", "breaks"),
    [("", False), (".create(params)", False), ("  # a comment", False), (", another, value", True)],
)
def test_what_follows_on_the_line_may_break_it(rest: str, breaks: bool) -> None:
    text = f"the_optimizer_of_the_parameters = optim.Momentum(config.learning_rate, 0.95){rest}\n"
    each = document(text)
    call = next(node for node in ast.walk(each.tree) if read_constructor(node))
    bound = bind(call, "Momentum")  # type: ignore[arg-type]
    assert not isinstance(bound, Refused)
    parts = chain(bound, each, NAMES.__getitem__)
    assert any("\n" in str(part) for part in parts) == breaks


def read_constructor(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(read(node), binding.Bound)


LONG = """\
def make(params, config):
{unit}if config.big:
{unit}{unit}optimizer = optim.Momentum(config.the_rate, weight_decay=config.decay).create(params)
{unit}else:
{unit}{unit}optimizer = optim.Adam(learning_rate=config.learning_rate).create(config.of(
{unit}{unit}{unit}params))
{unit}return optimizer


def step(optimizer, grads, config):
{unit}return optimizer.apply_gradient(grads, learning_rate=config.rate, weight_decay=config.decay)
"""


@pytest.mark.parametrize("unit", ["\t", "  ", "   ", "    ", " " * 8], ids=repr)
def test_what_is_written_is_indented_as_the_file_is(unit: str) -> None:
    text = f"from flax import optim\n\n\n{LONG.format(unit=unit)}"
    new = rewrite(text, "optax")
    added = [line for line in new.splitlines() if line not in text.splitlines()]
    margins = [line[: len(line) - len(line.lstrip())] for line in added]
    assert all(margin == unit * (len(margin) // len(unit)) for margin in margins), new
    # Each step inwards is one unit.
    depths = [len(margin) // len(unit) for margin in margins]
    assert max(depths) >= 4
    assert all(after - before <= 1 for before, after in pairwise(depths) if before), new


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("x = 1\n", "    "),
        ("if x:\n\ty = 1\n", "\t"),
        ("if x: y = 1\nif x:\n  y = 1\n", "  "),
        ("def f(\n        a,\n        b): return a\nclass C:\n   x = 1\n", "   "),
        ("x = {\n  1: 2}\nwhile x:\n\t\tpass\n", "\t\t"),
        ("if x: # y\n\n\n  y\n", "  "),
        ('"""A text:\n     indented."""\nx = 1\n', "    "),
    ],
)
def test_what_a_file_indents_by(text: str, unit: str) -> None:
    assert indentation(document(text)) == unit
