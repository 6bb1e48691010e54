"""What is written has the quotes of the file."""

from __future__ import annotations

import pytest

from flaxoptim_compat.migrate.editing.edits import Edit, Span
from flaxoptim_compat.migrate.editing.layout import quoted_as_in
from tests.support.rewriting_texts import document, rewrite

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
