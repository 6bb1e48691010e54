"""Which optimizer keeps which fields, so that a checkpoint can be read without importing jax."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable
from typing import TypeVar

from flaxoptim_compat.catalogue import PLAIN

Key = TypeVar("Key", bound=Hashable)


def _by_fields(pairs: Iterable[tuple[Key, str]]) -> dict[Key, tuple[str, ...]]:
    """{fields: the optimizers that have exactly these}"""
    found: dict[Key, tuple[str, ...]] = {}
    for fields, name in pairs:
        found[fields] = (*found.get(fields, ()), name)
    return found


# {fields of the state of one parameter: the optimizers that have exactly these}
LEGACY_KINDS = _by_fields((frozenset(row.state), row.name) for row in PLAIN)
# Up to Flax 0.2.2, which knew no centering.
LEGACY_KINDS[frozenset({"v"})] = ("RMSProp",)


def _read(state: str) -> dict[str, str]:
    """{field of an optax state: field of the legacy state, or "" for what is no moment}"""
    return dict(each.partition("=")[::2] for each in state.split())


# {fields of all optax states that a parameter has a part in: the optimizers they belong to}
OPTAX_KINDS = _by_fields(
    (frozenset(tuple(_read(state)) for state in states), row.name)
    for row in PLAIN
    for states in row.optax_states
)

# Which field is which, for both directions:
# {fields of an optax state: {one that has a value for every parameter: field of the legacy state}}
OPTAX_STATES: dict[frozenset[str], dict[str, str]] = {
    frozenset(_read(state)): {field: legacy for field, legacy in _read(state).items() if legacy}
    for row in PLAIN
    for states in row.optax_states
    for state in states
} | {
    # Of a definition with code of its own, whose whole state is in one field.
    frozenset({"count", "param_states"}): {"param_states": ""},
}

WEIGHT_NORM_STATE = frozenset({"direction", "scale", "inner_state"})
# Flax before 0.4.0 kept mult in place of the two factors.
WEIGHT_NORM_ENTRIES = (
    frozenset({"direction_state", "scale_state", "direction", "scale"}),
    frozenset({"direction_state", "scale_state", "mult"}),
)


@dataclasses.dataclass(frozen=True)
class Kind:
    """The kind of optimizer that moves a parameter, as far as the fields of its state tell.

    Args:
      names: the optimizers that have these fields; none, if no optimizer of flax.optim does.
      weight_norm: whether they are wrapped in WeightNorm.
      fields: those that are in use, of what WeightNorm wraps if it does.
    """

    names: tuple[str, ...]
    weight_norm: bool = False
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.names:
            fields = ", ".join(self.fields) or "none"
            return f"no optimizer of flax.optim (fields of its state: {fields})"
        return f"{'WeightNorm over ' if self.weight_norm else ''}{alternatives(self.names)}"


def alternatives(names: Iterable[str]) -> str:
    """The names in a sentence: ``Adam, AdaBelief or LAMB``."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
