"""Restoring state dicts: in one walk, strictly, and from the layouts of older Flax versions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from flax import serialization
from flax.core import FrozenDict
from jax.sharding import PartitionSpec, Sharding
from jax.tree_util import PyTreeDef

from flaxoptim_compat.bridge.definition import Leaf, PyTree

_ARRAYS = (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct)

# How to restore a value like the first out of the second.
_Way = Callable[[PyTree, PyTree], PyTree]


def expect_entries(state_dict: PyTree, names: Iterable[str]) -> Mapping[str, PyTree]:
    """The entries of an optimizer in a state dict; T5X, for one, keeps more in the same dict.

    Raises:
      ValueError: an entry is missing.
    """
    names = list(names)
    if isinstance(state_dict, Mapping) and set(names) <= set(state_dict):
        return {name: state_dict[name] for name in names}
    found = sorted(state_dict) if isinstance(state_dict, Mapping) else type(state_dict).__name__
    hint = ""
    if isinstance(state_dict, Mapping) and "optimizer" in state_dict:
        hint = (
            " The optimizer is under 'optimizer': restore that entry, or the object that holds it."
        )
    raise ValueError(
        f"Cannot restore the optimizer: expected the entries {names}, found {found}.{hint}"
    )


def holds_axes(state_dict: PyTree) -> bool:
    """Whether a state dict has, where arrays were, their axes: a PartitionSpec, or None for none.

    Definitions written for T5X make one in ``derive_logical_axes``, and restore it.
    """
    leaves = jax.tree.leaves(state_dict, is_leaf=lambda node: node is None)
    return all(leaf is None or isinstance(leaf, PartitionSpec | Sharding) for leaf in leaves)


def fields_by_name(state_dict: PyTree) -> PyTree:
    """The namedtuples in a target, which up to Flax 0.3.4 had their fields numbered."""
    if not isinstance(state_dict, Mapping):
        return state_dict
    numbered = set(state_dict) == {"name", "fields", "values"}
    if numbered and isinstance(state_dict["name"], str):
        fields, values = state_dict["fields"], state_dict["values"]
        state_dict = {fields[number]: values[number] for number in fields}
    return {name: fields_by_name(child) for name, child in state_dict.items()}


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
            of_tuple = dict.fromkeys(kind._fields)
            return lambda like, found: kind(**self._fields(like, found, of_tuple))
        if isinstance(like, _ARRAYS) and not serialization.is_serializable(kind):
            return _array
        names = dict.fromkeys(_restored_fields(like))
        return lambda like, found: like.replace(**self._fields(like, found, names))

    def _entries(self, like: Mapping[Any, PyTree], found: PyTree) -> dict[Any, PyTree]:
        if type(found) is not dict or found.keys() != like.keys():
            raise Misfit
        take = self.take
        return {name: take(value, found[name]) for name, value in like.items()}

    def _fields(self, like: PyTree, found: PyTree, names: dict[str, None]) -> dict[str, PyTree]:
        # Not by _entries: an optimizer has a state of some fields for each parameter.
        if type(found) is not dict or found.keys() != names.keys():
            raise Misfit
        take = self.take
        return {name: take(getattr(like, name), found[name]) for name in names}

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


def restore(like: PyTree, state_dict: PyTree, where: str) -> PyTree:
    """What ``state_dict`` holds, in the structure of ``like``.

    Args:
      like: gives the structure and the shapes; its values are not used.
      state_dict: nested dicts of arrays.
      where: the path of the two, for messages.

    Raises:
      ValueError: an entry is missing, unexpected or of another shape; the message names it.
    """
    _check(serialization.to_state_dict(like), state_dict, where)
    return serialization.from_state_dict(like, state_dict)


def _check(expected: PyTree, found: PyTree, path: str) -> None:
    if isinstance(expected, Mapping):
        if not isinstance(found, Mapping):
            raise _mismatch(path, f"the entries {sorted(expected)}", _describe(found))
        for name in expected:
            if name not in found:
                raise _mismatch(f"{path}/{name}", _describe(expected[name]), "nothing")
        for name in found:
            if name not in expected:
                raise _mismatch(f"{path}/{name}", "nothing", _describe(found[name]))
        for name in expected:
            _check(expected[name], found[name], f"{path}/{name}")
    elif isinstance(found, Mapping) or (expected is None) != (found is None):
        raise _mismatch(path, _describe(expected), _describe(found))
    elif expected is not None and np.shape(expected) != np.shape(found):
        raise _mismatch(
            path,
            _describe(expected),
            _describe(found) + _replication_hint(np.shape(expected), np.shape(found)),
        )


def _replication_hint(expected: tuple[int, ...], found: tuple[int, ...]) -> str:
    if found[1:] == expected and found:
        return (
            ". If it was saved from a replicated optimizer, take the first copy of every array,"
            " jax.tree.map(lambda x: x[0], state_dict)"
        )
    if expected[1:] == found and expected:
        return ". If the optimizer here is replicated, restore first and replicate then"
    return ""


def _mismatch(path: str, expected: str, found: str) -> ValueError:
    return ValueError(
        f"Cannot restore the optimizer: at {path} expected {expected}, found {found}."
        " Nothing was restored."
    )


def _describe(value: PyTree) -> str:
    if value is None:
        return "None"
    if isinstance(value, Mapping):
        return f"the entries {sorted(value)}"
    dtype = getattr(value, "dtype", type(value).__name__)
    return f"an array of shape {np.shape(value)} and dtype {dtype}"


def upgrade(
    target: PyTree, state_dict: PyTree, each: Callable[[int, Leaf, PyTree], PyTree]
) -> PyTree:
    """Rewrite the entry of every parameter, and make the step an int32 scalar.

    Args:
      target: the parameters, already restored.
      state_dict: that of an ``OptimizerState``.
      each: takes the index of a parameter, the parameter and its entry to its new entry.
    """
    if not isinstance(state_dict, Mapping) or set(state_dict) != {"step", "param_states"}:
        return state_dict
    leaves, treedef = jax.tree.flatten(target)
    positions = serialization.to_state_dict(jax.tree.unflatten(treedef, range(len(leaves))))

    def rewritten(position: PyTree, entry: PyTree) -> PyTree:
        if isinstance(position, int):
            return each(position, leaves[position], entry)
        if isinstance(position, Mapping) and isinstance(entry, Mapping):
            return {
                name: rewritten(position[name], child) if name in position else child
                for name, child in entry.items()
            }
        return entry

    step = state_dict["step"]
    return {
        # Flax <= 0.2.2 counted in a Python int.
        "step": np.asarray(step, np.int32) if isinstance(step, int) else step,
        "param_states": rewritten(positions, state_dict["param_states"]),
    }


def merge_list_of_states(
    target: PyTree, state_dict: PyTree, groups: Sequence[Sequence[int]]
) -> PyTree:
    """The one state that replaced, in Flax 0.3.3, a list of states for a MultiOptimizer.

    Args:
      target: the parameters.
      state_dict: of either layout; the newer one is returned as it is.
      groups: the leaves of each optimizer, in the order of its traversal.

    Raises:
      ValueError: the list does not fit the optimizers.
    """
    if not isinstance(state_dict, Mapping) or "step" in state_dict:
        return state_dict
    states = [state_dict.get(str(number)) for number in range(len(groups))]
    if len(state_dict) != len(groups) or not all(
        isinstance(state, Mapping)
        and set(state) == {"step", "param_states"}
        and isinstance(state["param_states"], Mapping)
        for state in states
    ):
        raise _mismatch(
            "state",
            "the entries ['param_states', 'step'], or a list of"
            f" {len(groups)} states as Flax 0.3.2 had",
            _describe(state_dict),
        )
    steps = {int(np.asarray(state["step"])) for state in states if state}
    if len(steps) != 1:
        raise _mismatch("state", "the same step for all optimizers", f"steps {sorted(steps)}")
    treedef: PyTreeDef = jax.tree.structure(target)
    entries: list[PyTree] = [None] * treedef.num_leaves
    for state, leaves in zip(states, groups, strict=True):
        assert state is not None
        param_states = state["param_states"]
        if set(param_states) != {str(number) for number in range(len(leaves))}:
            raise _mismatch(
                "state", f"a group of {len(leaves)} parameters", _describe(param_states)
            )
        for number, index in enumerate(leaves):
            entries[index] = param_states[str(number)]
    assert states[0] is not None
    return {
        "step": states[0]["step"],
        "param_states": serialization.to_state_dict(treedef.unflatten(entries)),
    }
