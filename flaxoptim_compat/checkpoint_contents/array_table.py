"""Tables of arrays, and short texts for sizes, values and names."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from flaxoptim_compat.checkpoint_files.stored import StoredArray
from flaxoptim_compat.columns import in_columns

Item = TypeVar("Item")
_LONGEST_TEXT = 40
_LONGEST_NAME = 200
_MOST_ROWS = 100


def size_text(size: int) -> str:
    """A number of bytes as a text with a fitting unit, such as ``1.2 MB``."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{size} B" if unit == "B" else f"{value:,.{0 if value >= 100 else 1}f} {unit}"


def value_text(value: Any) -> str:
    """The text of a scalar, or a short text for anything longer."""
    if isinstance(value, StoredArray):
        if value.shape:
            return f"shape {'×'.join(map(str, value.shape))}"
        value = value.read().item()
    if isinstance(value, float):
        return f"{value:.6g}"
    # Cut first, because a text may be as large as the file.
    short = value[:_LONGEST_TEXT] if isinstance(value, str | bytes) else value
    return shortened(repr(short), _LONGEST_TEXT)


def shortened(text: str, length: int = _LONGEST_NAME) -> str:
    """The text, cut to the length and marked with ``…`` if it is longer."""
    return text if len(text) <= length else f"{text[:length]}…"


def table(names: Sequence[str], items: Sequence[Item], row: Callable[[Item], Sequence[str]]) -> str:
    """A table with the names of the columns, the first rows, and the number of further rows.

    Args:
      names: the names of the columns.
      items: the items, with a row for each.
      row: takes an item to the texts of its row.
    """
    rows = [row(item) for item in items[:_MOST_ROWS]]
    lines = in_columns([names, *rows], right=[names.index("size")])
    if len(items) > len(rows):
        lines.append(f"… and {len(items) - len(rows):,} more")
    return textwrap.indent("\n".join(lines), "  ")
