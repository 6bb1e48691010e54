"""Optimizers as trees: state and target are in the leaves, the definition is static."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
from flax import serialization
from jax.tree_util import GetAttrKey

from flaxoptim_compat.optim.by_value import Static

_Flatten = Callable[[Any], tuple[tuple[Any, ...], Any]]
_Unflatten = Callable[[Any, Any], Any]


def register(cls: type) -> None:
    """Make a class a frozen dataclass, a pytree node and a serializable type, as flax.struct does.

    flax.struct itself would put the definition into the tree as it is, not as a snapshot.
    """
    dataclasses.dataclass(frozen=True)(cls)
    data: list[str] = []
    static: list[str] = []
    for field in dataclasses.fields(cls):
        (data if field.metadata.get("pytree_node", True) else static).append(field.name)
    static.remove("optimizer_def")
    if (data, static) == (["state", "target"], []):
        flatten, unflatten = _of_three_fields(cls)
    else:
        flatten, unflatten = _of_more_fields(cls, data, static)

    def flatten_with_keys(optimizer: Any) -> tuple[tuple[Any, ...], Any]:
        children, aux = flatten(optimizer)
        return tuple(zip(map(GetAttrKey, data), children, strict=True)), aux

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    # Through the definition, because a replicated optimizer stores only one copy.
    serialization.register_serialization_state(
        cls,
        lambda optimizer: optimizer.state_dict(),
        lambda optimizer, state: optimizer.restore_state(state),
    )


def _of_three_fields(cls: Any) -> tuple[_Flatten, _Unflatten]:
    """How to take an optimizer apart and put it together, as each call of a jitted step does."""

    def flatten(optimizer: Any) -> tuple[tuple[Any, ...], Any]:
        return (optimizer.state, optimizer.target), Static(optimizer.optimizer_def)

    def unflatten(static: Any, children: Any) -> Any:
        state, target = children
        return cls(optimizer_def=static.restored(), state=state, target=target)

    return flatten, unflatten


def _of_more_fields(
    cls: Any, data: Sequence[str], static: Sequence[str]
) -> tuple[_Flatten, _Unflatten]:
    """The same for a subclass with fields of its own."""
    names = ("optimizer_def", *static, *data)

    def flatten(optimizer: Any) -> tuple[tuple[Any, ...], Any]:
        rest = tuple(getattr(optimizer, name) for name in static)
        children = tuple(getattr(optimizer, name) for name in data)
        return children, (Static(optimizer.optimizer_def), rest)

    def unflatten(aux: Any, children: Any) -> Any:
        definition, rest = aux
        values = (definition.restored(), *rest, *children)
        return cls(**dict(zip(names, values, strict=True)))

    return flatten, unflatten
