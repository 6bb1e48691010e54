"""Pairs of a parameter in an old program and the same parameter in a new one, by their paths."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from jax.tree_util import PyTreeDef

from flaxoptim_compat.bridge.definition import PyTree

# {an old path, or its beginning: the new one}, or a function from an old path to a new one.
Paths: TypeAlias = Mapping[str, str] | Callable[[str], str]


@dataclasses.dataclass(frozen=True)
class Pairing:
    """The leaf of a target for each parameter of a model.

    Args:
      target: the structure of the target.
      model: the structure of the model's parameters, as optax sees them.
      leaves: for each parameter of the model, in jax's order, the index of the leaf in the target.
    """

    target: PyTreeDef
    model: PyTreeDef
    leaves: tuple[int, ...]

    def to_model(self, tree: PyTree) -> PyTree:
        """A tree in the structure of the target, or deeper, in the structure of the model."""
        values = self.target.flatten_up_to(tree)
        return self.model.unflatten([values[leaf] for leaf in self.leaves])

    def to_target(self, tree: PyTree) -> PyTree:
        """A tree in the structure of the model, or deeper, in the structure of the target."""
        values = dict(zip(self.leaves, self.model.flatten_up_to(tree), strict=True))
        return self.target.unflatten([values[leaf] for leaf in range(len(values))])


def renamed(old: Iterable[str], paths: Paths | None) -> list[str]:
    """The new paths of parameters, in the order of the old ones.

    In a path, the longest key of a mapping that the path begins with is replaced by its value. A
    path that begins with no key stays. Slashes separate names, and the empty path is the root.

    Raises:
      ValueError: no path begins with a key, or two parameters get the same path.
    """
    old = list(old)
    if paths is None:
        return old
    new = list(map(paths, old)) if callable(paths) else _by_prefix(old, paths)
    first: dict[str, str] = {}
    for before, after in zip(old, new, strict=True):
        if first.setdefault(after, before) != before:
            raise ValueError(
                f"`paths` gives the parameters {first[after]} and {before} the same path, {after}."
            )
    return new


def _by_prefix(old: list[str], paths: Mapping[str, str]) -> list[str]:
    keys = {_names(key): _names(value) for key, value in paths.items()}
    used = set()
    new = []
    for path in old:
        names = _names(path)
        beginnings = (names[:length] for length in range(len(names), -1, -1))
        key = next((beginning for beginning in beginnings if beginning in keys), None)
        if key is None:
            new.append(path)
        else:
            used.add(key)
            new.append("/".join(keys[key] + names[len(key) :]))
    for beginning in paths:
        if _names(beginning) not in used:
            raise ValueError(
                f"No path of a parameter begins with {beginning!r}, which is a key of `paths`. The"
                f" parameters are {', '.join(old)}."
            )
    return new


def _names(path: str) -> tuple[str, ...]:
    return tuple(filter(None, path.split("/")))
