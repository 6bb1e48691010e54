"""Plain text in columns."""

from __future__ import annotations

from collections.abc import Container, Sequence

from flaxoptim_compat.printable import one_line


def in_columns(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """The lines of a table, one for each row; a column is as wide as its longest text.

    Control characters are escaped, so that no text leaves its line.

    Args:
      rows: rows with the same number of texts. Headings are a row like any other.
      right: the numbers of the columns that are aligned to the right.
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
