"""What Python 3.10 lacks."""

from __future__ import annotations

import sys

import pytest

from flaxoptim_compat.versions.of_python import parser_survives

LEVELS = 200_000


@pytest.mark.parametrize(
    "text",
    [
        "x" + ".a" * LEVELS,
        "x" + "()" * LEVELS,
        "x" + "[0]" * LEVELS,
        "(" + "1+\n" * LEVELS,
    ],
    ids=["attributes", "calls", "items", "an open bracket"],
)
def test_what_would_end_the_process_is_not_parsed(text: str) -> None:
    # From Python 3.11 on the parser refuses it itself.
    assert parser_survives(text) == (sys.version_info >= (3, 11))


@pytest.mark.parametrize(
    "text",
    ["x.a(1)[0]\n" * LEVELS, "x = [\n" + "(1, 2 + 3),\n" * 3_000 + "]", "'" + "+" * LEVELS + "'"],
    ids=["many lines", "a table", "a string"],
)
def test_what_is_only_long_is(text: str) -> None:
    assert parser_survives(text)
