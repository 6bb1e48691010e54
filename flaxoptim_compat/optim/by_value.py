"""Definitions as values: jit takes two that are equal for the same."""

from __future__ import annotations

import copy
from typing import Any, Self

from flaxoptim_compat.bridge.equality import same


class ByValue:
    """Equality, and snapshots of hyper-parameters, which a program may assign at any time."""

    hyper_params: Any

    def structure(self) -> tuple[Any, ...]:
        """Everything but the hyper-parameters that decides what a step does."""
        rest = {name: value for name, value in vars(self).items() if name != "hyper_params"}
        return (type(self), rest)

    def settings(self) -> tuple[Any, ...]:
        """A snapshot of the hyper-parameters, those of definitions inside this one included."""
        mine = getattr(self, "hyper_params", None)
        return (tuple(mine) if isinstance(mine, list) else mine, *map(_settings, self._parts()))

    def with_settings(self, settings: tuple[Any, ...]) -> Self:
        """A copy of this definition with the hyper-parameters of a snapshot."""
        other = copy.copy(self)
        for (name, value), old in zip(self._parts(), settings[1:], strict=True):
            if isinstance(value, ByValue):
                setattr(other, name, value.with_settings(old))
            else:
                parts = [part.with_settings(each) for part, each in zip(value, old, strict=True)]
                setattr(other, name, tuple(parts))
        mine = settings[0]
        other.hyper_params = list(mine) if type(mine) is tuple else mine
        return other

    def _parts(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in vars(self).items() if _holds_definitions(value)]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same(vars(self), vars(other))

    def __hash__(self) -> int:
        return hash(type(self))


def _holds_definitions(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(isinstance(each, ByValue) for each in value)
    return isinstance(value, ByValue)


def _settings(part: tuple[str, Any]) -> tuple[Any, ...]:
    value = part[1]
    if isinstance(value, ByValue):
        return value.settings()
    return tuple(each.settings() for each in value)
