"""Tables of arrays, and sizes that people can read."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from flaxoptim_compat.checkpoint_files.stored import StoredArray
from flaxoptim_compat.checkpoint_files.trees import Path
from flaxoptim_compat.columns import in_columns

Item = TypeVar("Item")
_LONGEST_TEXT = 40
_LONGEST_NAME = 200
_MOST_ROWS = 100


def size_text(size: int) -> str:
    """A number of bytes in a unit that suits it."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{size} B" if unit == "B" else f"{value:,.{0 if value >= 100 else 1}f} {unit}"


def value_text(value: Any) -> str:
    """A scalar as it reads, anything longer in short."""
    if isinstance(value, StoredArray):
        if value.shape:
            return f"shape {'×'.join(map(str, value.shape))}"
        value = value.read().item()
    if isinstance(value, float):
        return f"{value:.6g}"
    # Of a text as large as the file no more than is shown.
    short = value[:_LONGEST_TEXT] if isinstance(value, str | bytes) else value
    return shortened(repr(short), _LONGEST_TEXT)


def name_text(path: Path) -> str:
    """The names that lead to an entry, as far as a line has room for them."""
    return shortened("/".join(path)) or "(the whole file)"


def shortened(text: str, length: int = _LONGEST_NAME) -> str:
    """A text, or as much as fits of one that is longer."""
    return text if len(text) <= length else f"{text[:length]}…"


def table(names: Sequence[str], items: Sequence[Item], row: Callable[[Item], Sequence[str]]) -> str:
    """The first rows below the names, in columns, and how many more there are.

    Args:
      names: of the columns.
      items: what there is a row for.
      row: what a row says.
    """
    rows = [row(item) for item in items[:_MOST_ROWS]]
    lines = in_columns([names, *rows], right=[names.index("size")])
    if len(items) > len(rows):
        lines.append(f"… and {len(items) - len(rows):,} more")
    return textwrap.indent("\n".join(lines), "  ")
