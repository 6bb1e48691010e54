"""The pairs of arrays that belong together on the two sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import tree_leaves_with_path

from flaxoptim_compat.bridge.trees import leaves_like
from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.findings import PARAMETER
from flaxoptim_compat.parity.moments import Moment
from flaxoptim_compat.parity.sides import Side
from flaxoptim_compat.versions.of_jax import slashed


class Match(NamedTuple):
    """An array that both sides have.

    Args:
      row: the number of the parameter among the leaves.
      leaf: the path of the parameter.
      quantity: ``parameter``, or the name of a moment.
      names: the names of the quantity on the two sides.
      shape: the shape of the array.
      dtype: the coarser dtype of the two sides.
    """

    row: int
    leaf: str
    quantity: str
    names: tuple[str, str]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Matching:
    """The arrays that two sides have in common, found in their carries at the start.

    Raises:
      ParityError: their parameters are not the same trees.
    """

    def __init__(self, sides: tuple[Side, Side], start: tuple[Any, Any]) -> None:
        self._sides = sides
        self.notes: list[str] = []
        params, second_params = (each.params_of(c) for each, c in zip(sides, start, strict=True))
        self._paths = [slashed(path) for path, _ in tree_leaves_with_path(params)]
        self._largest = max(map(np.size, jax.tree.leaves(params)), default=0)
        self.matches = self._parameters(params, second_params) + self._moments(start)

    def arrays(self, carry: tuple[Any, Any]) -> list[tuple[Any, Any]]:
        """The pairs of matching arrays in the carries of both sides."""
        first, second = (
            {PARAMETER: jax.tree.leaves(side.params_of(carried))}
            | {name: moment.arrays for name, moment in side.moments(carried).items()}
            for side, carried in zip(self._sides, carry, strict=True)
        )
        return [
            (first[each.quantity][each.row], second[each.quantity][each.row])
            for each in self.matches
        ]

    def _parameters(self, params: Any, second_params: Any) -> list[Match]:
        try:
            other_leaves = leaves_like(params, second_params, "the parameters of the second side")
        except ValueError as error:
            raise ParityError(f"The two sides have other parameters: {error}") from error
        rows = list(zip(jax.tree.leaves(params), other_leaves, strict=True))
        for path, (first, second) in zip(self._paths, rows, strict=True):
            if jnp.shape(first) != jnp.shape(second):
                raise ParityError(
                    f"The parameter {path or 'at the root'} has shape {jnp.shape(first)} on the"
                    f" first side and {jnp.shape(second)} on the second."
                )
        return [
            self._match(row, PARAMETER, (PARAMETER,) * 2, pair) for row, pair in enumerate(rows)
        ]

    def _moments(self, start: tuple[Any, Any]) -> list[Match]:
        first, second = (
            side.moments(carried) for side, carried in zip(self._sides, start, strict=True)
        )
        for ordinal, mine, others in (("first", first, second), ("second", second, first)):
            alone = [
                _called(name, moment)
                for name, moment in mine.items()
                if name not in others and not self._is_placeholder(moment)
            ]
            if alone:
                self.notes.append(f"Only the {ordinal} side keeps {_listed(alone)}: not compared.")
        return [
            match
            for name in first
            if name in second
            for match in self._of_moment(name, first[name], second[name])
        ]

    def _is_placeholder(self, moment: Moment) -> bool:
        """True for a moment that is not in use: Adafactor keeps one number instead of an array."""
        sizes = [1 if array is None else np.size(array) for array in moment.arrays]
        return max(sizes) == 1 and self._largest > 1

    def _of_moment(self, name: str, first: Moment, second: Moment) -> list[Match]:
        matches, odd = [], []
        names = (first.own_name, second.own_name)
        for row, pair in enumerate(zip(first.arrays, second.arrays, strict=True)):
            if pair[0] is None and pair[1] is None:
                continue
            if any(each is None for each in pair) or jnp.shape(pair[0]) != jnp.shape(pair[1]):
                odd.append(self._paths[row])
                continue
            matches.append(self._match(row, name, names, pair))
        if odd:
            self.notes.append(
                f"The two sides do not keep {_called(name, first)} in the same shape, or only one"
                f" keeps it, for {_listed(odd)}: not compared there."
            )
        return matches

    def _match(
        self, row: int, quantity: str, names: tuple[str, str], pair: tuple[Any, Any]
    ) -> Match:
        coarser = np.dtype(max(map(jnp.result_type, pair), key=_unit))
        return Match(row, self._paths[row], quantity, names, jnp.shape(pair[0]), coarser)


def _unit(dtype: Any) -> float:
    finfo: Any = jnp.finfo
    return float(finfo(dtype).eps) if jnp.issubdtype(dtype, jnp.inexact) else 0.0


def _called(name: str, moment: Moment) -> str:
    return name if name == moment.own_name else f"{name} ({moment.own_name})"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
