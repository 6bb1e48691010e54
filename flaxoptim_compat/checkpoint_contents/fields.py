"""The fields of each optimizer's state, by which a checkpoint is recognised without jax."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable
from typing import TypeVar

from flaxoptim_compat.catalogue import PLAIN

Key = TypeVar("Key", bound=Hashable)


def _by_fields(pairs: Iterable[tuple[Key, str]]) -> dict[Key, tuple[str, ...]]:
    """The dict {fields: names of the optimizers that have exactly these fields}."""
    by_fields: dict[Key, tuple[str, ...]] = {}
    for fields, name in pairs:
        by_fields[fields] = (*by_fields.get(fields, ()), name)
    return by_fields


# {fields of the state of one parameter: the optimizers that have exactly these fields}
LEGACY_KINDS = _by_fields((frozenset(row.state), row.name) for row in PLAIN)
# Up to Flax 0.2.2, RMSProp had no centering.
LEGACY_KINDS[frozenset({"v"})] = ("RMSProp",)


def _read(state: str) -> dict[str, str]:
    """The dict {field of an optax state: field of the legacy state, or "" for no moment}."""
    return dict(field.partition("=")[::2] for field in state.split())


# {fields of all optax states with a value for a parameter: the optimizers with these states}
OPTAX_KINDS = _by_fields(
    (frozenset(tuple(_read(state)) for state in states), row.name)
    for row in PLAIN
    for states in row.optax_states
)

# For both directions of a conversion:
# {fields of an optax state: {field with a value for each parameter: field of the legacy state}}
OPTAX_STATES: dict[frozenset[str], dict[str, str]] = {
    frozenset(_read(state)): {field: legacy for field, legacy in _read(state).items() if legacy}
    for row in PLAIN
    for states in row.optax_states
    for state in states
} | {
    # A definition with code of its own has its whole state in one field.
    frozenset({"count", "param_states"}): {"param_states": ""},
}

WEIGHT_NORM_STATE = frozenset({"direction", "scale", "inner_state"})
# Flax before 0.4.0 kept mult in place of the two factors.
WEIGHT_NORM_ENTRIES = (
    frozenset({"direction_state", "scale_state", "direction", "scale"}),
    frozenset({"direction_state", "scale_state", "mult"}),
)


@dataclasses.dataclass(frozen=True)
class OptimizerKind:
    """The kind of optimizer that moves a parameter, as far as the fields of its state tell.

    Args:
      names: the optimizers with these fields; empty if no optimizer of flax.optim has them.
      weight_norm: whether the optimizer is wrapped in WeightNorm.
      fields: the fields in use, of the wrapped optimizer if there is a WeightNorm.
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
