"""Restoring state dicts: a fast walk for the usual layout, and upgrades from older layouts."""

from __future__ import annotations

import dataclasses
import functools
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from flax import serialization
from flax.core import FrozenDict
from jax.sharding import PartitionSpec, Sharding
from jax.tree_util import PyTreeDef

from flaxoptim_compat.bridge.definition import Assignment, Definition, Leaf, PyTree
from flaxoptim_compat.bridge.strictness import is_strict, let_pass
from flaxoptim_compat.bridge.trees import number_kind

_ARRAYS = (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct)

# A function that restores one value. It takes a value like the result, and the stored value.
_Restorer = Callable[[PyTree, PyTree], PyTree]


def expect_entries(state_dict: PyTree, names: Iterable[str]) -> Mapping[str, PyTree]:
    """The entries of an optimizer in a state dict, which may have more entries, as in T5X.

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
            " The optimizer is in the entry 'optimizer': restore that entry, or the object around"
            " the optimizer."
        )
    raise ValueError(
        f"Cannot restore the optimizer: expected the entries {names}, found {found}.{hint}"
    )


def holds_axes(state_dict: PyTree) -> bool:
    """True if a state dict has axes in place of arrays: a PartitionSpec, or None for no axes.

    Definitions written for T5X make such a state dict in ``derive_logical_axes``, and restore it.
    """
    leaves = jax.tree.leaves(state_dict, is_leaf=lambda node: node is None)
    return all(leaf is None or isinstance(leaf, PartitionSpec | Sharding) for leaf in leaves)


def fields_by_name(state_dict: PyTree) -> PyTree:
    """The state dict with the fields of named tuples by name; up to Flax 0.3.4 by number."""
    if not isinstance(state_dict, Mapping):
        return state_dict
    numbered = set(state_dict) == {"name", "fields", "values"}
    if numbered and isinstance(state_dict["name"], str):
        fields, values = state_dict["fields"], state_dict["values"]
        state_dict = {fields[number]: values[number] for number in fields}
    return {name: fields_by_name(child) for name, child in state_dict.items()}


class NotFitting(Exception):
    """A state dict does not have exactly the expected layout, or holds unknown types."""


def restore_fitting(like: PyTree, state_dict: PyTree) -> PyTree:
    """The values of ``state_dict`` in the structure of ``like``: a fast walk for the usual case.

    The walk does the same as ``flax.serialization.from_state_dict``, and checks names and shapes. A
    state dict that does not fit may still be right: an older layout, axes in place of arrays, or a
    type of the user's. The values of ``like`` are not used.

    Raises:
      NotFitting: an entry is missing, unexpected, no array or of another shape, or ``like`` holds a
        value of an unknown type.
    """
    return _FittingRestore().restored(like, state_dict)


class _FittingRestore:
    """The walk of ``restore_fitting``, with a function that restores each type met so far."""

    def __init__(self) -> None:
        self._restorers: dict[type, _Restorer] = {
            dict: self._entries,
            FrozenDict: lambda like, stored: FrozenDict(self._entries(like, stored)),
            list: self._list,
            tuple: lambda like, stored: tuple(self._list(like, stored)),
            type(None): _none,
        }

    def restored(self, like: PyTree, stored: PyTree) -> PyTree:
        """The stored values in the structure of ``like``."""
        restorer = self._restorers.get(type(like))
        if restorer is None:
            restorer = self._restorers[type(like)] = self._restorer_for(like)
        return restorer(like, stored)

    def _restorer_for(self, like: PyTree) -> _Restorer:
        kind: Any = type(like)
        if isinstance(like, tuple) and hasattr(like, "_fields"):
            tuple_fields = dict.fromkeys(kind._fields)
            return lambda like, stored: kind(**self._fields(like, stored, tuple_fields))
        if isinstance(like, _ARRAYS) and not serialization.is_serializable(kind):
            return _array
        names = dict.fromkeys(_restored_fields(like))
        return lambda like, stored: like.replace(**self._fields(like, stored, names))

    def _entries(self, like: Mapping[Any, PyTree], stored: PyTree) -> dict[Any, PyTree]:
        if type(stored) is not dict or stored.keys() != like.keys():
            raise NotFitting
        restored = self.restored
        return {name: restored(value, stored[name]) for name, value in like.items()}

    def _fields(self, like: PyTree, stored: PyTree, names: dict[str, None]) -> dict[str, PyTree]:
        # Without the dict that _entries needs: there is a dataclass of state for each parameter.
        if type(stored) is not dict or stored.keys() != names.keys():
            raise NotFitting
        restored = self.restored
        return {name: restored(getattr(like, name), stored[name]) for name in names}

    def _list(self, like: Sequence[PyTree], stored: PyTree) -> list[PyTree]:
        return [*self._entries({str(at): value for at, value in enumerate(like)}, stored).values()]


def _none(like: None, stored: PyTree) -> None:
    if stored is not None:
        raise NotFitting


def _array(like: PyTree, stored: PyTree) -> PyTree:
    # A Python number, and the axes that may be in place of an array, have no shape.
    if getattr(stored, "shape", None) != like.shape:
        raise NotFitting
    return stored


def _restored_fields(like: PyTree) -> tuple[str, ...]:
    """The fields of a ``flax.struct.dataclass``, if flax restores its class field by field.

    The class may be registered with functions of its own. Therefore flax restores a sample here.
    """
    if not dataclasses.is_dataclass(like) or isinstance(like, type) or not hasattr(like, "replace"):
        raise NotFitting
    fields = dataclasses.fields(like)
    names = tuple(field.name for field in fields if field.metadata.get("pytree_node", True))
    sample = {name: object() for name in names}
    expected = {field.name: getattr(like, field.name) for field in fields} | sample
    try:
        restored = serialization.from_state_dict(like.replace(**dict.fromkeys(names)), sample)
        plain = all(getattr(restored, name) is value for name, value in expected.items())
    # The user's own function may fail with a sample.
    except Exception:
        plain = False
    if not plain or type(restored) is not type(like):
        raise NotFitting
    return names


def restore(like: PyTree, state_dict: PyTree, where: str) -> tuple[PyTree, list[Misfit]]:
    """The values of ``state_dict`` in the structure of ``like``, as flax restores them.

    Surplus entries are ignored, and any value in place of an array is taken unchanged. Messages
    have ``where`` as the path of both trees.

    Returns:
      the restored values, and the misfits: give these to ``warn_of`` when everything is restored.

    Raises:
      ValueError: flax refuses the state dict, or ``strict()`` does; the message names the first
        path that does not fit.
    """
    misfits = list(_misfits(like, serialization.to_state_dict(like), state_dict, (where,)))
    if misfits and is_strict():
        raise misfits[0].error()
    try:
        restored = serialization.from_state_dict(like, state_dict)
    except Exception:
        if not misfits:
            raise
        raise next((each for each in misfits if each.refused), misfits[0]).error() from None
    return restored, misfits


def warn_of(misfits: Sequence[Misfit]) -> None:
    """Warn of misfits, if there are any, at the line of the program that restores."""
    if misfits:
        more = f", and {len(misfits) - 1} more like it" if len(misfits) > 1 else ""
        let_pass(
            f"The checkpoint does not fit the optimizer: at {misfits[0]}{more}.{misfits[0].hint} As"
            " in flax.optim, unexpected entries are ignored, and any value in place of an array is"
            " restored unchanged."
        )


@dataclasses.dataclass(frozen=True)
class Misfit:
    """A path at which a state dict differs from the expected one.

    Args:
      path: names separated by slashes.
      expected: the expected value, in words.
      found: the stored value, in words.
      refused: whether flax refuses the difference.
      hint: a sentence about the way out, if there is one.
    """

    path: str
    expected: str
    found: str
    refused: bool = True
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.path} expected {self.expected}, found {self.found}"

    def error(self) -> ValueError:
        """The error that refuses the state dict."""
        message = f"Cannot restore the optimizer: at {self}.{self.hint} Nothing was restored."
        return ValueError(message)


def _misfits(
    like: PyTree, expected: PyTree, found: PyTree, path: tuple[str, ...]
) -> Iterator[Misfit]:
    """The paths at which a state dict differs from ``expected``, the state dict of ``like``."""
    where = functools.partial("/".join, path)
    if isinstance(expected, Mapping):
        if not isinstance(found, Mapping):
            yield Misfit(where(), f"the entries {sorted(expected)}", _describe(found))
            return
        for name in expected:
            if name not in found:
                yield Misfit(f"{where()}/{name}", _describe(expected[name]), "nothing")
        for name in found:
            if name not in expected:
                # Flax ignores unknown entries in a dict, and refuses them in anything else.
                refused = not isinstance(like, Mapping)
                yield Misfit(f"{where()}/{name}", "nothing", _describe(found[name]), refused)
        for name, child in _children(like, expected).items():
            if name in found:
                yield from _misfits(child, expected[name], found[name], (*path, name))
    elif isinstance(found, Mapping) or (expected is None) != (found is None):
        yield Misfit(where(), _describe(expected), _describe(found), False)
    elif expected is not None and np.shape(expected) != np.shape(found):
        hint = _replication_hint(np.shape(expected), np.shape(found))
        yield Misfit(where(), _describe(expected), _describe(found), False, hint)


def _children(like: PyTree, expected: Mapping[str, PyTree]) -> dict[str, PyTree]:
    """The children of ``like`` by name; their state dicts are the entries of ``expected``."""
    if isinstance(like, Mapping):
        return {str(name): child for name, child in like.items()}
    if isinstance(like, list | tuple) and not hasattr(like, "_fields"):
        return {str(at): child for at, child in enumerate(like)}
    return {name: getattr(like, name, None) for name in expected}


def _replication_hint(expected: tuple[int, ...], found: tuple[int, ...]) -> str:
    if found[1:] == expected and found:
        return (
            " If the checkpoint was saved from a replicated optimizer, take the first copy of"
            " every array: `jax.tree.map(lambda x: x[0], state_dict)`."
        )
    if expected[1:] == found and expected:
        return " If this optimizer is replicated, restore first and replicate afterwards."
    return ""


def _describe(value: PyTree) -> str:
    if value is None:
        return "None"
    if isinstance(value, Mapping):
        return f"the entries {sorted(value)}"
    dtype = getattr(value, "dtype", type(value).__name__)
    return f"an array of shape {np.shape(value)} and dtype {dtype}"


def refuse_no_count(state_dict: PyTree) -> None:
    """Refuse the state dict of an ``OptimizerState`` whose step is no count, nor axes in its place.

    Flax restored such a step and failed afterwards.

    Raises:
      ValueError: the step is no count.
    """
    step = state_dict.get("step") if isinstance(state_dict, Mapping) else None
    if isinstance(step, int):
        is_count = -(2**31) <= step < 2**31
    elif isinstance(step, jax.Array | np.ndarray | np.generic):
        is_count = number_kind(step) == "real"
    else:
        is_count = not isinstance(step, str | bytes | list | Mapping | complex)
    if not is_count:
        raise Misfit("state/step", "a count of steps", reprlib.repr(step)).error()


def upgrade(
    target: PyTree,
    state_dict: PyTree,
    parts: Iterable[Assignment],
    upgrade_entry: Callable[[Definition, Leaf, PyTree], PyTree] = (
        lambda definition, param, entry: definition.upgrade_param_state(param, entry)
    ),
) -> PyTree:
    """The state dict with an upgraded entry for every parameter, and an int32 scalar as step.

    Args:
      target: the parameters, already restored.
      state_dict: the state dict of an ``OptimizerState``.
      parts: the definitions, which upgrade the entries of their own parameters.
      upgrade_entry: asks a definition for the new entry of a parameter.
    """
    if not isinstance(state_dict, Mapping) or set(state_dict) != {"step", "param_states"}:
        return state_dict
    leaves, treedef = jax.tree.flatten(target)
    mover = {index: part.definition for part in parts for index in part.leaves}
    positions = serialization.to_state_dict(jax.tree.unflatten(treedef, range(len(leaves))))

    def rewritten(position: PyTree, entry: PyTree) -> PyTree:
        if isinstance(position, int) and position in mover:
            return upgrade_entry(mover[position], leaves[position], entry)
        if isinstance(position, Mapping) and isinstance(entry, Mapping):
            return {
                name: rewritten(position[name], child) if name in position else child
                for name, child in entry.items()
            }
        return entry

    step = state_dict["step"]
    return {
        # Up to Flax 0.2.2 the step was a Python int.
        "step": np.asarray(step, np.int32) if isinstance(step, int) else step,
        "param_states": rewritten(positions, state_dict["param_states"]),
    }


def merge_list_of_states(
    target: PyTree, state_dict: PyTree, groups: Sequence[Sequence[int]]
) -> PyTree:
    """The state dict of a MultiOptimizer with one state, as since Flax 0.3.3, not a list of states.

    A state dict of the newer layout is returned unchanged. The groups are the leaves of each
    optimizer, in the order of its traversal.

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
        expected = (
            "the entries ['param_states', 'step'], or a list of"
            f" {len(groups)} states as Flax 0.3.2 had"
        )
        raise Misfit("state", expected, _describe(state_dict)).error()
    steps = {int(np.asarray(state["step"])) for state in states if state}
    if len(steps) != 1:
        expected = "the same step for all optimizers"
        raise Misfit("state", expected, f"steps {sorted(steps)}").error()
    treedef: PyTreeDef = jax.tree.structure(target)
    entries: list[PyTree] = [None] * treedef.num_leaves
    for state, leaves in zip(states, groups, strict=True):
        assert state is not None
        param_states = state["param_states"]
        if set(param_states) != {str(number) for number in range(len(leaves))}:
            expected = f"a group of {len(leaves)} parameters"
            raise Misfit("state", expected, _describe(param_states)).error()
        for number, index in enumerate(leaves):
            entries[index] = param_states[str(number)]
    assert states[0] is not None
    return {
        "step": states[0]["step"],
        "param_states": serialization.to_state_dict(treedef.unflatten(entries)),
    }
