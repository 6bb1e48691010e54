"""Trees from lists of names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from flaxoptim_compat.checkpoint_files.stored import CheckpointError, Tree

DEEPEST = 200


def nested(entries: Iterable[tuple[Sequence[str], Tree]], path: Path) -> Tree:
    """The tree in which each entry is found under its names.

    Args:
      entries: names and values. Without any name, the value is the tree.
      path: the file, for messages.

    Raises:
      CheckpointError: two entries have the same names, or one is inside another.
    """
    root: dict[str, Any] = {}
    for names, value in entries:
        if not names:
            return value
        if len(names) > DEEPEST or "" in names:
            raise CheckpointError(
                f"{path} has an entry of the impossible name {'/'.join(names)!r}."
            )
        inner = root
        for name in names[:-1]:
            child = inner.setdefault(name, {})
            if not isinstance(child, dict):
                raise _clash(names, path)
            inner = child
        if names[-1] in inner:
            raise _clash(names, path)
        inner[names[-1]] = value
    return root


def _clash(names: Sequence[str], path: Path) -> CheckpointError:
    return CheckpointError(
        f"{path} has an entry {'/'.join(names)!r}, and another of that name or inside it, as no"
        " checkpoint has. Use another copy, or an earlier one."
    )
