"""Marks are written in lines that fit, and read again as one sentence."""

from __future__ import annotations

import pytest

from flaxoptim_compat.migrate.editing.marks import marks_in, written
from tests.migrate.unmarked import without_marks
from tests.support.rewriting_texts import rewrite

REASON = "It may be called: write `jax_utils.replicate(optimizer, devices=all)`, or something else."
ASKS_FOR_CLASS = """\
from flax import optim


def show(params):
  # Its author's.
  optimizer = optim.Adam(0.1).create(params)
  print(type(optimizer), "is the class of an optimizer")
"""


@pytest.mark.parametrize("width", [10, 60, 200])
@pytest.mark.parametrize("margin", ["", "    ", "\t"])
def test_what_is_written_is_read_again(width: int, margin: str) -> None:
    lines = [f"{margin}{line}\n" for line in written(f"FOC205: {REASON}", width)]
    text = "".join([f"{margin}# Other words.\n", *lines, f"{margin}step()\n"])
    (mark,) = marks_in(text)
    assert (mark.code, mark.text) == ("FOC205", f"FOC205: {REASON}")
    assert text[mark.start : mark.end] == "".join(lines).strip()
    assert without_marks(text) == f"{margin}# Other words.\n{margin}step()\n"
    assert sum("`jax_utils.replicate(optimizer, devices=all)`" in line for line in lines) == 1


def test_lines_fit() -> None:
    assert written("FOC101: One two three four five six seven.", 40) == [
        "# FOC101: One two three four five six",
        "#   seven.",
    ]
    assert written("FOC101: One two three four five `six seven`.", 40) == [
        "# FOC101: One two three four five",
        "#   `six seven`.",
    ]


def test_two_marks_one_below_the_other_are_two() -> None:
    text = "# FOC101: a\n#   b\n# FOC102: c\n# Not it.\nx\n"
    assert [mark.text for mark in marks_in(text)] == ["FOC101: a b", "FOC102: c"]


def test_a_mark_fits_the_file_and_is_written_once() -> None:
    marked = rewrite(ASKS_FOR_CLASS, "optax")
    assert max(map(len, marked.splitlines())) <= 80
    assert without_marks(marked).count("#") == 1
    assert rewrite(marked, "optax") == marked


def test_a_mark_on_one_line_as_it_was_written_before_counts() -> None:
    marked = rewrite(ASKS_FOR_CLASS, "optax")
    (mark,) = marks_in(marked)
    before = f"{marked[: mark.start]}# {mark.text}{marked[mark.end :]}"
    assert rewrite(before, "optax") == before
