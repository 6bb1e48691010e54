"""The moments in the state of a side, by the names that optax gives them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from flaxoptim_compat.bridge.trees import thaw
from flaxoptim_compat.optim.formula import Chain
from flaxoptim_compat.optim.kinds import KINDS

# Names that hand-written optimizers give moments, and those of optax.
_ALIASES = {"m": "mu", "v": "nu", "momentum": "trace"}
# The factors of WeightNorm: flax.optim keeps a state for each of them, optax a tree of both.
_FACTORS = {"direction_state": "direction", "scale_state": "scale"}


class Name(NamedTuple):
    """The name of a quantity in optax, and on the side that keeps it."""

    optax: str
    own: str

    def of(self, factor: str) -> Name:
        """The name of the quantity for a factor of the parameter."""
        return Name(f"{self.optax} of {factor}", f"{self.own} of {factor}")


class Moment(NamedTuple):
    """One quantity that a side keeps for its parameters.

    Args:
      own_name: the name of the quantity on the side.
      arrays: one for each parameter; None where the side keeps none.
    """

    own_name: str
    arrays: list[Any]


def moments_in(state: Any, params: Any) -> dict[str, Moment]:
    """All moments in a state, by the names that optax would give them.

    A moment is a subtree with the structure of the parameters that has an array of floats, or a
    dataclass of such arrays, for each parameter. Counts are no moments.

    Args:
      state: a state of flax.optim, of optax, or of other containers and arrays.
      params: anything with the structure of the parameters.
    """
    treedef: Any = jax.tree.structure(thaw(params))
    count = treedef.num_leaves
    moments: dict[str, Moment] = {}
    for tree_name, leaves in _like_params(thaw(state), treedef, Name("state", "state")):
        fields = [dict(_fields(leaf, tree_name)) for leaf in leaves]
        for name in dict.fromkeys(name for field in fields for name in field):
            _add(
                moments, name.optax, Moment(name.own, [field.get(name) for field in fields]), count
            )
    return moments


def _add(moments: dict[str, Moment], name: str, moment: Moment, count: int) -> None:
    """Add a moment: parts of a masked chain are joined, a second moment gets a name of its own."""
    for number in range(1, len(moments) + 2):
        key = name if number == 1 else f"{name} {number}"
        old = moments.get(key, Moment(moment.own_name, [None] * count)).arrays
        if all(a is None or b is None for a, b in zip(old, moment.arrays, strict=True)):
            both = [b if a is None else a for a, b in zip(old, moment.arrays, strict=True)]
            moments[key] = Moment(moment.own_name, both)
            return


def _like_params(node: Any, treedef: Any, name: Name) -> Iterator[tuple[Name, list[Any]]]:
    """The subtrees that have a value for each parameter, each with its name."""
    try:
        leaves = treedef.flatten_up_to(node)
    except (ValueError, TypeError):
        leaves = []
    if leaves and all(map(_may_be_leaf, leaves)):
        if not all(map(_is_nothing, leaves)):
            yield name, leaves
        return
    for child_name, child in _children(node, name):
        yield from _like_params(child, treedef, child_name)


def _children(node: Any, name: Name) -> list[tuple[Name, Any]]:
    if isinstance(node, tuple) and hasattr(node, "_fields"):
        # The hyper-parameters of inject_hyperparams are no moments.
        fields = [each for each in node._fields if each != "hyperparams"]
        return [(Name(each, each), getattr(node, each)) for each in fields]
    if isinstance(node, tuple | list):
        return [(name, child) for child in node]
    if isinstance(node, Mapping) and set(node) == set(_FACTORS.values()):
        return [(name.of(factor), child) for factor, child in node.items()]
    if isinstance(node, Mapping):
        return [(_own(str(key)), child) for key, child in node.items()]
    return [(_own(key), child) for key, child in _dataclass_fields(node)]


def _own(name: str) -> Name:
    return Name(_ALIASES.get(name, name), name)


def _dataclass_fields(node: Any) -> list[tuple[str, Any]]:
    if not dataclasses.is_dataclass(node) or isinstance(node, type):
        return []
    return [(field.name, getattr(node, field.name)) for field in dataclasses.fields(node)]


def _may_be_leaf(leaf: Any) -> bool:
    return _is_nothing(leaf) or _is_number(leaf) or bool(_state_of_one(leaf))


def _is_nothing(leaf: Any) -> bool:
    # An empty dataclass is the state that GradientDescent keeps for a parameter.
    empty = dataclasses.is_dataclass(leaf) and not dataclasses.fields(leaf)
    # WeightNorm has () for the scale of a parameter that it leaves alone; so is a MaskedNode.
    return leaf is None or empty or (isinstance(leaf, tuple) and not leaf)


def _is_number(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.inexact)


def _state_of_one(leaf: Any) -> list[tuple[str, Any]]:
    """The fields of a dataclass that holds the moments of one parameter."""
    fields = _dataclass_fields(leaf)
    return fields if all(_may_be_leaf(value) for _, value in fields) else []


def _fields(leaf: Any, name: Name) -> Iterator[tuple[Name, Any]]:
    """The arrays kept for one parameter."""
    if _is_number(leaf):
        yield name, leaf
    elif not _is_nothing(leaf):
        fields = _state_of_one(leaf)
        names = _optax_names().get(frozenset(own for own, _ in fields), {})
        for own, value in fields:
            if own in _FACTORS:
                for inner, array in _fields(value, _own(own)):
                    yield inner.of(_FACTORS[own]), array
            elif _is_number(value):
                yield Name(names.get(own, _own(own).optax), own), value


@cache
def _optax_names() -> dict[frozenset[str], dict[str, str]]:
    """{fields of a legacy per-parameter state: {field: its name in optax}}."""
    by_fields = {}
    for kind in KINDS:
        formula: Chain = kind.formula
        if formula.state is None:
            continue
        fields: Any = dataclasses.fields(formula.state)
        maps = formula.state_fields.values()
        names = {legacy: field for each in maps for field, legacy in each.items()}
        by_fields[frozenset(field.name for field in fields)] = names
    return by_fields
