"""Functions of the trees of checkpoints: nested mappings with arrays, numbers and texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray, StoredList, Tree

# The names that lead to an entry.
TreePath = tuple[str, ...]
# Real checkpoints nest about ten deep.
DEEPEST = 200


def leaves_of(
    tree: Any, path: TreePath = (), without: Collection[TreePath] = ()
) -> Iterator[tuple[TreePath, Any]]:
    """All values in a tree that are no mappings, with their paths.

    Args:
      tree: nested mappings.
      path: the path of the tree.
      without: paths to leave out, with everything below them.
    """
    if not isinstance(tree, Mapping):
        yield path, tree
        return
    for name, child in tree.items():
        inner = (*path, name)
        if inner in without:
            continue
        # Without a generator for a leaf, because most children are leaves.
        if isinstance(child, Mapping):
            yield from leaves_of(child, inner, without)
        else:
            yield inner, child


def mappings_in(tree: Any) -> Iterator[Mapping[str, Any]]:
    """All mappings in a tree, each before those inside it."""
    if isinstance(tree, Mapping):
        yield tree
        for child in tree.values():
            yield from mappings_in(child)


def arrays(tree: Tree) -> Iterator[StoredArray]:
    """All arrays of a tree."""
    return (leaf for _, leaf in leaves_of(tree) if isinstance(leaf, StoredArray))


def size_of(tree: Tree) -> int:
    """The total size of the values of all arrays, in bytes."""
    return sum(array.nbytes for array in arrays(tree))


def at(tree: Any, path: Sequence[str]) -> Any:
    """The entry at a path; None if there is no entry."""
    for name in path:
        if not isinstance(tree, Mapping) or name not in tree:
            return None
        tree = tree[name]
    return tree


def mapped(tree: Any, change: Callable[[TreePath, Any], Any], path: TreePath = ()) -> Any:
    """The tree with each leaf changed.

    Args:
      tree: nested mappings.
      change: takes the path of a leaf and the leaf to the new leaf.
      path: the path of the tree.
    """
    if not isinstance(tree, Mapping):
        return change(path, tree)
    return with_children(
        tree, {name: mapped(child, change, (*path, name)) for name, child in tree.items()}
    )


def replaced(tree: Any, path: Sequence[str], new: Any) -> Any:
    """The tree with another entry at a path."""
    if not path:
        return new
    name, *rest = path
    return with_children(tree, {**tree, name: replaced(tree[name], rest, new)})


def with_children(tree: Mapping[str, Any], children: Mapping[str, Any]) -> Mapping[str, Any]:
    """The children as a mapping of the same kind as the tree, such as a ``StoredList``."""
    return StoredList([*children.values()]) if isinstance(tree, StoredList) else children


def nested(entries: Iterable[tuple[Sequence[str], Tree]], file: Path) -> Tree:
    """The tree of entries, each at the path of its names.

    Args:
      entries: names and values. The value of an entry without names is the whole tree.
      file: the file of the entries, for messages.

    Raises:
      CheckpointError: two entries have the same names, or one is inside another.
    """
    root: dict[str, Any] = {}
    for names, value in entries:
        if not names:
            return value
        if len(names) > DEEPEST or "" in names:
            raise CheckpointError(
                f"{file} has an entry of the impossible name {'/'.join(names)!r}. Use another copy,"
                " or an earlier checkpoint."
            )
        inner: Any = root
        for name in names[:-1]:
            inner = inner.setdefault(name, {}) if isinstance(inner, dict) else inner
        if not isinstance(inner, dict) or names[-1] in inner:
            raise CheckpointError(
                f"{file} has an entry {'/'.join(names)!r}, and another entry of that name or inside"
                " it, as no checkpoint has. Use another copy, or an earlier checkpoint."
            )
        inner[names[-1]] = value
    return root
