"""Definitions as values: a jitted function keeps its trace for an equal definition."""

from __future__ import annotations

import copy
from itertools import islice
from operator import is_
from typing import TYPE_CHECKING, Any, ClassVar

from flaxoptim_compat.bridge.definition import HyperParams
from flaxoptim_compat.bridge.equality import same

if TYPE_CHECKING:
    from typing import Self

# The hyper-parameters of a definition and of all definitions inside it: for each definition the
# length of its list of hyper-parameters, or None without a list; and all values in one tuple. The
# snapshot is flat, because each call of a jitted function makes several and compares them.
Snapshot = tuple[tuple[int | None, ...], tuple[HyperParams, ...]]


class ByValue:
    """Equality, and snapshots of hyper-parameters, which a program may assign at any time."""

    hyper_params: HyperParams
    # The attribute that holds the hyper-parameters.
    _holder: ClassVar[str] = "hyper_params"

    def step_structure(self) -> tuple[object, ...]:
        """Everything but the hyper-parameters that decides what a step does."""
        attributes = {name: value for name, value in vars(self).items() if name != self._holder}
        for name, inner in held_by(self):
            attributes[name] = tuple(part.step_structure() for part in inner)
        return (type(self), attributes)

    def snapshot(self) -> Snapshot:
        """The hyper-parameters of this definition and of all definitions inside it."""
        lengths: list[int | None] = []
        values: list[HyperParams] = []
        definitions: list[ByValue] = [self]
        for definition in definitions:  # the list grows in the loop
            hyper_params = getattr(definition, "hyper_params", None)
            if isinstance(hyper_params, list):
                lengths.append(len(hyper_params))
                values += hyper_params
            else:
                lengths.append(None)
                values.append(hyper_params)
            # Most definitions have no other attribute, and so no definition inside.
            if len(vars(definition)) > 1 or "hyper_params" not in vars(definition):
                for _, inner in held_by(definition):
                    definitions += inner
        return tuple(lengths), tuple(values)

    def with_snapshot(self, snapshot: Snapshot) -> Self:
        """A copy of this definition with the hyper-parameters of a snapshot."""
        lengths, values = snapshot[0], iter(snapshot[1])
        whole = copy.copy(self)
        copies: list[ByValue] = [whole]
        # The list of copies grows in the order in which snapshot() meets the definitions.
        for definition, length in zip(copies, lengths, strict=True):
            for name, inner in held_by(definition):
                copied = tuple(map(copy.copy, inner))
                copies += copied
                is_tuple = isinstance(vars(definition)[name], tuple)
                setattr(definition, name, copied if is_tuple else copied[0])
            definition.hyper_params = (
                next(values) if length is None else list(islice(values, length))
            )
        return whole

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same(vars(self), vars(other))

    def __hash__(self) -> int:
        return hash(type(self))


class StaticDefinition:
    """The definition in a pytree, as jit compares it: with its hyper-parameters of this moment.

    Assigning ``definition.hyper_params`` changes an object that a cached trace also holds. Two
    snapshots of the hyper-parameters are compared, therefore, and not the objects. Each call of a
    jitted function makes such a snapshot, compares it with the one of the trace, and restores the
    definition of a third: every step of a program waits for this code.
    """

    __slots__ = ("definition", "snapshot")

    def __init__(self, definition: Any) -> None:
        self.definition = definition
        # A definition of another package has no snapshot.
        self.snapshot: Snapshot | None = (
            definition.snapshot() if isinstance(definition, ByValue) else None
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StaticDefinition)
            and type(self.definition) is type(other.definition)
            and (self.snapshot is None or _agree(self.snapshot, other.snapshot))
            and (self.definition is other.definition or self._same_structure(other.definition))
        )

    def _same_structure(self, other: Any) -> bool:
        if not isinstance(other, ByValue):
            return bool(self.definition == other)
        return same(self.definition.step_structure(), other.step_structure())

    def __hash__(self) -> int:
        return hash(type(self.definition))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.definition!r}, {self.snapshot!r})"

    def restored(self) -> Any:
        """The definition with the hyper-parameters that it had when the snapshot was taken."""
        definition = self.definition
        if self.snapshot is None or _agree(self.snapshot, definition.snapshot()):
            return definition
        return definition.with_snapshot(self.snapshot)


def _agree(a: Snapshot, b: Snapshot | None) -> bool:
    """True if a definition does the same with both snapshots."""
    # Both hold the very same objects, unless hyper-parameters were assigned or made anew.
    return b is not None and a[0] == b[0] and (all(map(is_, a[1], b[1])) or same(a[1], b[1]))


def held_by(definition: Any) -> list[tuple[str, tuple[ByValue, ...]]]:
    """The attributes whose value is a definition, or a tuple of some, with the definitions."""
    held = []
    for name, value in vars(definition).items():
        items = value if isinstance(value, tuple) else (value,)
        # A generator for all() would be entered once for each definition of a MultiOptimizer.
        for item in items:
            if not isinstance(item, ByValue):
                break
        else:
            if items:
                held.append((name, items))
    return held
