"""Tables of arrays, and sizes that people can read."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flaxoptim_compat.checkpoint_files.stored import StoredArray
from flaxoptim_compat.columns import in_columns

Path = tuple[str, ...]
_LONGEST_TEXT = 40


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


def table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The rows below the names, in columns."""
    lines = in_columns([names, *rows], right=[names.index("size")])
    return textwrap.indent("\n".join(lines), "  ")
