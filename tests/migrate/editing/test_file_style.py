"""What is written is indented as the file is, in lines as long as its own, and has its quotes."""

from __future__ import annotations

from itertools import pairwise

import pytest

from flaxoptim_compat.migrate.editing.edits import Edit, Span
from flaxoptim_compat.migrate.editing.layout import indentation, quoted_as_in, width_of
from tests.support.optax_texts import document
from tests.support.rewriting_texts import rewrite

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


@pytest.mark.parametrize("unit", ["\t", "  ", " " * 8], ids=repr)
def test_what_is_written_is_indented_as_the_file_is(unit: str) -> None:
    text = f"from flax import optim\n\n\n{LONG.format(unit=unit)}"
    new = rewrite(text, "optax")
    added = [line for line in new.splitlines() if line not in text.splitlines()]
    margins = [line[: len(line) - len(line.lstrip())] for line in added]
    assert all(margin == unit * (len(margin) // len(unit)) for margin in margins), new
    # Each step inwards is one unit, or two within the brackets of Google's style.
    depths = [len(margin) // len(unit) for margin in margins]
    assert max(depths) >= 4
    assert all(
        after - before <= 1 + (unit == "  ") for before, after in pairwise(depths) if before
    ), new


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("x = 1\n", "    "),
        ("if x: y = 1\nif x:\n  y = 1\n", "  "),
        ("def f(\n        a,\n        b): return a\nclass C:\n   x = 1\n", "   "),
        ("x = {\n  1: 2}\nwhile x:\n\t\tpass\n", "\t\t"),
        ('"""A text:\n     indented."""\nx = 1\n', "    "),
    ],
)
def test_what_a_file_indents_by(text: str, unit: str) -> None:
    assert indentation(document(text)) == unit


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("def f():\n  return 1\n", 80),
        (f"def f():\n  return {'x' * 85}\n", 80),
        (f"def f():\n  return {'x' * 85}\n  return {'y' * 85}\n", 100),
        # A text and a comment are as long as they are.
        (f"x = '{'x' * 85}'\ny = '{'x' * 85}'\nz = 1  # {'x' * 85}\n", 88),
    ],
)
def test_how_long_the_lines_of_a_file_may_be(text: str, width: int) -> None:
    assert width_of(document(text)) == width


SINGLE = "x = 'a'\ny = 'b'\nz = \"c\"\n"


@pytest.mark.parametrize(
    ("text", "written", "expected"),
    [
        (SINGLE, ('f("a", ', Span(0, 1), ', "b")'), ("f('a', ", Span(0, 1), ", 'b')")),
        # A string around a span, one with the other quote in it, and a docstring.
        (SINGLE, ('f("', Span(0, 1), '")'), ('f("', Span(0, 1), '")')),
        (SINGLE, ('f("it\'s" + "a")',), ('f("it\'s" + "a")',)),
        (SINGLE, ('"""a"""',), ('"""a"""',)),
        # As many of each, a docstring that does not count, and a file without strings.
        ("x = 'a', \"b\"\n", ('f("a")',), ('f("a")',)),
        ("'''Doc.'''\nx = \"b\"\n", ('f("a")',), ('f("a")',)),
        ("x = 1\n", ('f("a")',), ('f("a")',)),
    ],
)
def test_quotes(text: str, written: tuple[str | Span, ...], expected: tuple[str | Span]) -> None:
    assert quoted_as_in(document(text), [Edit(0, 1, written)]) == [Edit(0, 1, expected)]


def test_a_setting_in_a_file_with_single_quotes() -> None:
    before = "import flax\n\nflax.training.checkpoints.save_checkpoint('work', {}, 1)\n"
    after = rewrite(before, "shim")
    assert "flax.config.update('flax_use_orbax_checkpointing', False)\n" in after
    assert rewrite(after, "shim") == after
