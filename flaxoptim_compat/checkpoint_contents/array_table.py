"""Tables of arrays, and sizes that people can read."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from flaxoptim_compat.checkpoint_files.stored import StoredArray
from flaxoptim_compat.columns import in_columns

Path = tuple[str, ...]
Item = TypeVar("Item")
_LONGEST_TEXT = 40
_MOST_ROWS = 100


def leaves_of(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything in a tree that is no mapping, with its path."""
    if isinstance(tree, Mapping):
        for name, child in tree.items():
            yield from leaves_of(child, (*path, name))
    else:
        yield path, tree


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
    text = repr(value)
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def table(names: Sequence[str], items: Sequence[Item], row: Callable[[Item], Sequence[str]]) -> str:
    """The first rows below the names, in columns, and how many more there are.

    Args:
      names: of the columns.
      items: what there is a row for.
      row: what a row says.
    """
    rows = [row(each) for each in items[:_MOST_ROWS]]
    lines = in_columns([names, *rows], right=[names.index("size")])
    if len(items) > len(rows):
        lines.append(f"… and {len(items) - len(rows):,} more")
    return textwrap.indent("\n".join(lines), "  ")
