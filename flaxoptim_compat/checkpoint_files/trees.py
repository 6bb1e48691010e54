"""The trees of checkpoints: nested mappings, whose leaves are arrays, numbers and texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray, StoredList, Tree

# The names that lead to an entry.
Path = tuple[str, ...]
# Real checkpoints nest about ten deep.
DEEPEST = 200


def leaves_of(
    tree: Any, path: Path = (), without: Collection[Path] = ()
) -> Iterator[tuple[Path, Any]]:
    """Everything in a tree that is no mapping, with its path.

    Args:
      tree: nested mappings.
      path: that of the tree.
      without: paths at which nothing is looked for.
    """
    if not isinstance(tree, Mapping):
        yield path, tree
        return
    for name, child in tree.items():
        inner = (*path, name)
        if inner in without:
            continue
        # Most children are leaves, which need no generator of their own.
        if isinstance(child, Mapping):
            yield from leaves_of(child, inner, without)
        else:
            yield inner, child


def arrays(tree: Tree) -> Iterator[StoredArray]:
    """All arrays of a tree."""
    return (leaf for _, leaf in leaves_of(tree) if isinstance(leaf, StoredArray))


def size_of(tree: Tree) -> int:
    """The bytes that the values of all arrays have together."""
    return sum(array.nbytes for array in arrays(tree))


def at(tree: Any, path: Sequence[str]) -> Any:
    """The entry at a path; None if there is nothing."""
    for name in path:
        if not isinstance(tree, Mapping) or name not in tree:
            return None
        tree = tree[name]
    return tree


def mapped(tree: Any, change: Callable[[Path, Any], Any], path: Path = ()) -> Any:
    """The tree with each leaf changed.

    Args:
      tree: nested mappings.
      change: takes the path of a leaf, and the leaf.
      path: that of the tree.
    """
    if not isinstance(tree, Mapping):
        return change(path, tree)
    return with_children(
        tree, {name: mapped(child, change, (*path, name)) for name, child in tree.items()}
    )


def with_children(tree: Mapping[str, Any], children: Mapping[str, Any]) -> Mapping[str, Any]:
    """The children as a mapping of the same kind: a list in a file stays one."""
    return StoredList([*children.values()]) if isinstance(tree, StoredList) else children


def nested(entries: Iterable[tuple[Sequence[str], Tree]], file: FilePath) -> Tree:
    """The tree in which each entry is found under its names.

    Args:
      entries: names and values. Without any name, the value is the tree.
      file: where they come from, for messages.

    Raises:
      CheckpointError: two entries have the same names, or one is inside another.
    """
    root: dict[str, Any] = {}
    for names, value in entries:
        if not names:
            return value
        if len(names) > DEEPEST or "" in names:
            raise CheckpointError(
                f"{file} has an entry of the impossible name {'/'.join(names)!r}."
            )
        inner: Any = root
        for name in names[:-1]:
            inner = inner.setdefault(name, {}) if isinstance(inner, dict) else inner
        if not isinstance(inner, dict) or names[-1] in inner:
            raise CheckpointError(
                f"{file} has an entry {'/'.join(names)!r}, and another of that name or inside it,"
                " as no checkpoint has. Use another copy, or an earlier one."
            )
        inner[names[-1]] = value
    return root
