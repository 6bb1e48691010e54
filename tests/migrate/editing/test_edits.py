"""Edits of a text, made in any order or refused, and how they look as a patch that git applies."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flaxoptim_compat.migrate.editing.edits import Edit, Span, apply_edits
from tests.support.drawn import DRAWN
from tests.support.rewriting_folders import NEW, OLD, Rewrite, read

PIECES = st.text(alphabet="ab(\n", max_size=4)


@st.composite
def texts_with_edits(draw: st.DrawFn) -> tuple[str, list[Edit], str]:
    """A text, edits that are beside each other, and the text that they make."""
    text = draw(st.text(alphabet="xyz\n", max_size=20))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    edits, expected, done = [], "", 0
    for start, end in zip(cuts[::2], cuts[1::2], strict=False):
        parts = tuple(draw(st.lists(PIECES, max_size=2)))
        edits.append(Edit(start, end, parts))
        expected += text[done:start] + "".join(parts)
        done = end
    return text, edits, expected + text[done:]


@settings(DRAWN, max_examples=200)
@given(texts_with_edits(), st.randoms(use_true_random=False))
def test_edits_beside_each_other_are_made_in_any_order(
    drawn: tuple[str, list[Edit], str], random: Any
) -> None:
    text, edits, expected = drawn
    shuffled = [*edits, *edits[:1]]
    random.shuffle(shuffled)
    assert apply_edits(text, shuffled) == expected
    assert apply_edits(text, []) == text


@settings(DRAWN, max_examples=200)
@given(texts_with_edits(), PIECES, PIECES)
def test_an_edit_around_others_keeps_what_they_make(
    drawn: tuple[str, list[Edit], str], before: str, after: str
) -> None:
    text, edits, expected = drawn
    assume(text and all((each.start, each.end) != (0, len(text)) for each in edits))
    whole = Span(0, len(text))
    around = Edit(0, len(text), (before, whole, after, whole))
    assert apply_edits(text, [*edits, around]) == before + expected + after + expected
    gone = Edit(0, len(text), (before,))
    assert apply_edits(text, [gone, *edits]) == before


@settings(DRAWN, max_examples=50)
@given(st.integers(0, 3), st.integers(1, 3), st.integers(1, 3))
def test_edits_that_overlap_are_refused(start: int, first: int, second: int) -> None:
    overlapping = [
        Edit(start, start + first + 1, ("a",)),
        Edit(start + first, start + first + 1 + second, ("b",)),
    ]
    with pytest.raises(ValueError, match="Two edits overlap"):
        apply_edits("x" * 12, overlapping)
    same = [Edit(start, start + first, ("a",)), Edit(start, start + first, ("b",))]
    with pytest.raises(ValueError, match="Two edits change"):
        apply_edits("x" * 12, same)


@pytest.mark.parametrize("options", [(), ("--diff",)])
def test_without_write_it_is_a_patch(rewrite: Rewrite, options: tuple[str, ...]) -> None:
    done = rewrite(*options, a=OLD, b="x = 1\n", c__d=OLD)
    assert done.status == 1
    assert read("a.py") == OLD
    assert "a.py: changed in the patch: " in done.errors
    assert "No file was changed. To change them, add --write." in done.errors
    Path("patch").write_text(done.output)
    subprocess.run(["git", "apply", "patch"], check=True)
    assert (read("a.py"), read("b.py"), read("c/d.py")) == (NEW, "x = 1\n", NEW)


def test_a_patch_of_lines_without_ends(rewrite: Rewrite) -> None:
    text = "import jax\r\n\r\nx = 1\n\x0cy = '\u2028'; jax.tree_map"
    done = rewrite(a=text)
    Path("patch").write_bytes(done.output.encode())
    subprocess.run(["git", "apply", "patch"], check=True)
    assert read("a.py") == text.replace("tree_map", "tree.map")
