"""Converts the arguments of an old call to those that the function takes today."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flaxoptim_compat.legacy.calls.row import OldCall

_ONLY_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY,)
_POSITIONAL = (*_ONLY_POSITIONAL, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# The classes of the defaults that jax gives to deprecated arguments.
_NOT_TO_BE_GIVEN = ("DeprecatedArg", "Unspecified")
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Arguments:
    """The old and the new arguments of a function.

    Args:
      function: the function of today.
      row: its old arguments.
    """

    def __init__(self, function: Callable[..., Any], row: OldCall) -> None:
        # A parameter that only raises an error for a deprecated argument does not count.
        today = [
            each
            for each in inspect.signature(function).parameters.values()
            if type(each.default).__name__ not in _NOT_TO_BE_GIVEN
        ]
        kinds = {parameter.kind for parameter in today}
        positional = [each.name for each in today if each.kind in _POSITIONAL]
        at = dict(enumerate(positional))
        names = {each.name: each.default for each in today if each.kind in _BY_NAME}
        self._became: dict[str, str] = {}
        for place, each in enumerate(row.parameters):
            old, new = each.name, each.today
            if old == "self":
                # Methods of arrays are functions whose first parameter has another name than self.
                new = at.get(0, old)
            elif new == old or (new == "-" and old in names):
                new = old
            elif new not in ("", "-", *names, *positional):
                # Some versions of jax have the old name, or a third name at the same place.
                new = old if old in positional else at.get(place, old)
            self._became[old] = new
        stars = [each for each in self._became if each[0] == "*"]
        self._order = list(self._became)
        if stars:
            self._order = self._order[: self._order.index(stars[0])]
        self._passes_positions_on = bool(stars) and stars[0] != "*"
        self._renamed = {old for old, new in self._became.items() if new != old}
        # Some versions of jax have both names. An argument without effect may only be refused.
        both = {old for old in self._renamed & names.keys() if self._became[old]}
        self._gone = self._renamed - both
        self._never_none = {old for old in both if names[old] is not None}
        self._names = names.keys() - self._gone
        self._only_positional = [each.name for each in today if each.kind in _ONLY_POSITIONAL]
        self._takes_any_name = inspect.Parameter.VAR_KEYWORD in kinds
        self._most = len(positional)
        if inspect.Parameter.VAR_POSITIONAL in kinds:
            self._most = sys.maxsize
        self.have_changed = bool(
            row.by
            or row.old_if
            or self._renamed
            or set(self._order).intersection(self._only_positional)
            or positional[: len(self._order)] != self._order
        )
        if self._order[:1] == ["self"] and not self._only_positional:
            self._only_positional = positional[:1]

    def fit(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """True if the function takes the arguments of a call today, by their number and names."""
        if len(args) > self._most:
            return False
        if self._never_none and any(kwargs.get(name, "") is None for name in self._never_none):
            return False
        if self._takes_any_name:
            return self._gone.isdisjoint(kwargs)
        return kwargs.keys() <= self._names

    def of_today(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]] | None:
        """The arguments of an old call as those of today; None if the call is no old one either."""
        if len(args) > len(self._order) and not self._passes_positions_on:
            return None
        positions = () if self._passes_positions_on else zip(self._order, args, strict=False)
        named: dict[str, Any] = {}
        for old, value in (*positions, *kwargs.items()):
            new = self._became.get(old, old)
            if new in named or (new == "-" and value is not None):
                return None
            # For an argument with another name today, None meant that no value was given.
            if old not in self._renamed or (new and value is not None):
                named[new] = value
        if self._passes_positions_on:
            return args, named
        in_order = []
        for name in self._only_positional:
            if name not in named:
                break
            in_order.append(named.pop(name))
        return in_order, named
