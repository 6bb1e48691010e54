"""Which parameter of an old program is which of a new one: by its path, or by another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from jax.tree_util import PyTreeDef

from flaxoptim_compat.bridge.definition import PyTree

# {old path, or where it begins: what takes its place}, or a function from an old path to a new one.
Paths: TypeAlias = Mapping[str, str] | Callable[[str], str]


@dataclasses.dataclass(frozen=True)
class Pairing:
    """Which leaf of a target is which parameter of a model.

    Args:
      target: the structure of the target.
      model: that of what optax sees of the model.
      leaves: for each parameter of the model, in the order of jax, the leaf of the target.
    """

    target: PyTreeDef
    model: PyTreeDef
    leaves: tuple[int, ...]

    def to_model(self, tree: PyTree) -> PyTree:
        """The structure of the model for a tree like the target, or one that goes on below."""
        found = self.target.flatten_up_to(tree)
        return self.model.unflatten([found[leaf] for leaf in self.leaves])

    def to_target(self, tree: PyTree) -> PyTree:
        """The structure of the target for a tree like the model, or one that goes on below."""
        found = dict(zip(self.leaves, self.model.flatten_up_to(tree), strict=True))
        return self.target.unflatten([found[leaf] for leaf in range(len(found))])

    def places(self, leaves: Sequence[int]) -> tuple[int, ...]:
        """Where in the model some leaves of the target are."""
        place_of = {leaf: place for place, leaf in enumerate(self.leaves)}
        return tuple(place_of[leaf] for leaf in leaves)


def renamed(old: Iterable[str], paths: Paths | None) -> list[str]:
    """The new paths of parameters, in the order of the old ones.

    Of a mapping the longest key that a path begins with is replaced by its value; what begins with
    none stays. Names are separated by slashes, and the empty path is the root.

    Args:
      old: the paths of all parameters.
      paths: what is called otherwise.

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
            raise ValueError(f"paths gives {first[after]} and {before} the same path, {after}.")
    return new


def _by_prefix(old: list[str], paths: Mapping[str, str]) -> list[str]:
    keys = {_names(key): _names(value) for key, value in paths.items()}
    used = set()
    new = []
    for path in old:
        names = _names(path)
        beginnings = (names[:length] for length in range(len(names), -1, -1))
        key = next((each for each in beginnings if each in keys), None)
        if key is None:
            new.append(path)
        else:
            used.add(key)
            new.append("/".join(keys[key] + names[len(key) :]))
    for given in paths:
        if _names(given) not in used:
            raise ValueError(
                f"paths has {given!r}, but no parameter begins with it. There are {', '.join(old)}."
            )
    return new


def _names(path: str) -> tuple[str, ...]:
    return tuple(filter(None, path.split("/")))
