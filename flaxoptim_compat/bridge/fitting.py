"""Restoring a state dict that is exactly of the expected layout, in one walk."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from flax import serialization
from flax.core import FrozenDict

from flaxoptim_compat.bridge.definition import PyTree

_ARRAYS = (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct)

# How to restore a value like the first out of the second.
_Way = Callable[[PyTree, PyTree], PyTree]


class Misfit(Exception):
    """A state dict is not exactly of the expected layout, or this walk cannot tell."""


def restore_fitting(like: PyTree, state_dict: PyTree) -> PyTree:
    """What ``state_dict`` holds, in the structure of ``like``: the usual case, and the quick way.

    Does what ``flax.serialization.from_state_dict`` does, and checks names and shapes on the way.
    What it refuses may be all right: an older layout, axes in place of arrays, a type of a user.

    Args:
      like: gives the structure and the shapes; its values are not used.
      state_dict: nested dicts of arrays.

    Raises:
      Misfit: an entry is missing, unexpected, no array or of another shape, or ``like`` holds
        something of a type that is not known here.
    """
    return _Walk().take(like, state_dict)


class _Walk:
    """The walk, with the way to restore every type that it has met."""

    def __init__(self) -> None:
        self._ways: dict[type, _Way] = {
            dict: self._entries,
            FrozenDict: lambda like, found: FrozenDict(self._entries(like, found)),
            list: self._list,
            tuple: lambda like, found: tuple(self._list(like, found)),
            type(None): _none,
        }

    def take(self, like: PyTree, found: PyTree) -> PyTree:
        """What is found, in the structure of ``like``."""
        way = self._ways.get(type(like))
        if way is None:
            way = self._ways[type(like)] = self._way_of(like)
        return way(like, found)

    def _way_of(self, like: PyTree) -> _Way:
        kind: Any = type(like)
        if isinstance(like, tuple) and hasattr(like, "_fields"):
            return lambda like, found: kind(**self._entries(like._asdict(), found))
        if isinstance(like, _ARRAYS) and not serialization.is_serializable(kind):
            return _array
        names = _restored_fields(like)
        return lambda like, found: like.replace(
            **self._entries({name: getattr(like, name) for name in names}, found)
        )

    def _entries(self, like: Mapping[Any, PyTree], found: PyTree) -> dict[Any, PyTree]:
        if type(found) is not dict or found.keys() != like.keys():
            raise Misfit
        take = self.take
        return {name: take(value, found[name]) for name, value in like.items()}

    def _list(self, like: Sequence[PyTree], found: PyTree) -> list[PyTree]:
        return [*self._entries({str(at): value for at, value in enumerate(like)}, found).values()]


def _none(like: None, found: PyTree) -> None:
    if found is not None:
        raise Misfit


def _array(like: PyTree, found: PyTree) -> PyTree:
    # A Python number, and the axes that may be in place of an array, have no shape.
    if getattr(found, "shape", None) != like.shape:
        raise Misfit
    return found


def _restored_fields(like: PyTree) -> tuple[str, ...]:
    """The fields of a ``flax.struct.dataclass``, if it is restored field by field.

    A class may be registered with functions of its own, so flax is asked to restore a sample.
    """
    if not dataclasses.is_dataclass(like) or isinstance(like, type) or not hasattr(like, "replace"):
        raise Misfit
    fields = dataclasses.fields(like)
    names = tuple(each.name for each in fields if each.metadata.get("pytree_node", True))
    sample = {name: object() for name in names}
    expected = {each.name: getattr(like, each.name) for each in fields} | sample
    try:
        restored = serialization.from_state_dict(like.replace(**dict.fromkeys(names)), sample)
        plain = all(getattr(restored, name) is value for name, value in expected.items())
    # Code of the user's, which did not expect a sample.
    except Exception:
        plain = False
    if not plain or type(restored) is not type(like):
        raise Misfit
    return names
