"""Plain text in columns."""

from __future__ import annotations

from flaxoptim_compat.columns import in_columns


def test_columns_are_as_wide_as_their_longest_text() -> None:
    assert in_columns([("a", "size", ""), ("long", "12", "x"), ("", "", "")], right=[1]) == [
        "a     size",
        "long    12  x",
        "",
    ]
