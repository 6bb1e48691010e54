"""Definitions as values: jit takes two that are equal for the same."""

from __future__ import annotations

import copy
from itertools import islice
from operator import is_
from typing import TYPE_CHECKING, Any

from flaxoptim_compat.bridge.definition import HyperParams
from flaxoptim_compat.bridge.equality import same

if TYPE_CHECKING:
    from typing import Self

# A snapshot of the hyper-parameters of a definition and of all definitions inside it: for each of
# them the length of its list of hyper-parameters, or None where it has no list; and all values in
# one tuple. It is flat, because each call of a jitted function makes some and compares them.
Settings = tuple[tuple[int | None, ...], tuple[HyperParams, ...]]


class ByValue:
    """Equality, and snapshots of hyper-parameters, which a program may assign at any time."""

    hyper_params: HyperParams

    def step_structure(self) -> tuple[object, ...]:
        """Everything but the hyper-parameters that decides what a step does."""
        rest = {name: value for name, value in vars(self).items() if name != "hyper_params"}
        return (type(self), rest)

    def snapshot(self) -> Settings:
        """A snapshot of the hyper-parameters, those of definitions inside this one included."""
        lengths: list[int | None] = []
        values: list[HyperParams] = []
        definitions: list[ByValue] = [self]
        for each in definitions:  # which grows
            mine = getattr(each, "hyper_params", None)
            if isinstance(mine, list):
                lengths.append(len(mine))
                values += mine
            else:
                lengths.append(None)
                values.append(mine)
            # Most have no attribute but this, so none to look for definitions in.
            if len(vars(each)) > 1 or "hyper_params" not in vars(each):
                for _, inner in _held_by(each):
                    definitions += inner if isinstance(inner, tuple) else (inner,)
        return tuple(lengths), tuple(values)

    def with_snapshot(self, settings: Settings) -> Self:
        """A copy of this definition with the hyper-parameters of a snapshot."""
        lengths, values = settings[0], iter(settings[1])
        whole = copy.copy(self)
        copies: list[ByValue] = [whole]
        # In the order of snapshot(), for which a list grows in the same way.
        for each, length in zip(copies, lengths, strict=True):
            for name, inner in _held_by(each):
                if isinstance(inner, tuple):
                    inner = tuple(map(copy.copy, inner))
                    copies += inner
                else:
                    inner = copy.copy(inner)
                    copies.append(inner)
                setattr(each, name, inner)
            each.hyper_params = next(values) if length is None else list(islice(values, length))
        return whole

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same(vars(self), vars(other))

    def __hash__(self) -> int:
        return hash(type(self))


class Static:
    """The definition as jit compares it, with its hyper-parameters of this moment.

    Assigning ``definition.hyper_params`` changes an object that a cached trace also holds, so the
    comparison is between snapshots of the hyper-parameters, not between the objects. Each call of
    a jitted function makes one, compares it with that of the trace, and asks another for its
    definition: this is code that every step of a program waits for.

    Args:
      definition: any definition; one that is not of this package has no snapshot.
    """

    __slots__ = ("definition", "settings")

    def __init__(self, definition: Any) -> None:
        self.definition = definition
        self.settings: Settings | None = (
            definition.snapshot() if isinstance(definition, ByValue) else None
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Static)
            and type(self.definition) is type(other.definition)
            and (self.settings is None or _agree(self.settings, other.settings))
            and (self.definition is other.definition or self._same_structure(other.definition))
        )

    def _same_structure(self, other: Any) -> bool:
        if not isinstance(other, ByValue):
            return bool(self.definition == other)
        return same(self.definition.step_structure(), other.step_structure())

    def __hash__(self) -> int:
        return hash(type(self.definition))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.definition!r}, {self.settings!r})"

    def restored(self) -> Any:
        """The definition, with the hyper-parameters that it had when the snapshot was taken."""
        definition = self.definition
        if self.settings is None or _agree(self.settings, definition.snapshot()):
            return definition
        return definition.with_snapshot(self.settings)


def _agree(a: Settings, b: Settings | None) -> bool:
    """True if a definition does the same with both."""
    # Both hold the very same objects, unless hyper-parameters were assigned or made anew.
    return b is not None and a[0] == b[0] and (all(map(is_, a[1], b[1])) or same(a[1], b[1]))


def _held_by(definition: ByValue) -> list[tuple[str, ByValue | tuple[ByValue, ...]]]:
    """The attributes that are a definition, or a tuple of definitions."""
    held: list[tuple[str, ByValue | tuple[ByValue, ...]]] = []
    for name, value in vars(definition).items():
        of = value if isinstance(value, tuple) else (value,)
        for each in of:
            if not isinstance(each, ByValue):
                break
        else:
            if of:
                held.append((name, value))
    return held
