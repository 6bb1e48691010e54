"""Plain text in columns."""

from __future__ import annotations

from collections.abc import Container, Sequence

from flaxoptim_compat.printable import one_line


def in_columns(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """A line for each row; a column is as wide as the longest text in it.

    A text has the line to itself: its control characters are escaped.

    Args:
      rows: as many texts each. Headings are a row like any other.
      right: the numbers of the columns whose texts end at the same place.
    """
    rows = [[one_line(text) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if number in right else text.ljust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
