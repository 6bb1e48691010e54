"""The small helpers of ``jax.util``, which many programs borrowed."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = [
    "canonicalize_axis",
    "ceil_of_ratio",
    "concatenate",
    "curry",
    "partial",
    "prod",
    "safe_map",
    "safe_zip",
    "split_dict",
    "split_list",
    "split_merge",
    "subvals",
    "tuple_delete",
    "tuple_insert",
    "unzip2",
    "unzip3",
    "wrap_name",
    "wraps",
]

partial = functools.partial
prod = math.prod
wraps = functools.wraps


class LengthMismatch(AssertionError, ValueError):
    """The error for sequences of different lengths: once an AssertionError, later a ValueError."""


def _same_length(*args: Iterable[Any]) -> list[list[Any]]:
    lists = [list(arg) for arg in args]
    lengths = [len(items) for items in lists]
    if len(set(lengths)) > 1:
        raise LengthMismatch(f"length mismatch: {lengths}")
    return lists


def safe_map(f: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """Map a function over sequences of the same length."""
    return list(map(f, *_same_length(*args)))


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Pair up the elements of sequences of the same length."""
    return list(zip(*_same_length(*args), strict=True))


def unzip2(xys: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Take pairs apart."""
    pairs = list(xys)
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)


def unzip3(xyzs: Iterable[tuple[Any, Any, Any]]) -> tuple[tuple[Any, ...], ...]:
    """Take triples apart."""
    triples = list(xyzs)
    return tuple(tuple(triple[place] for triple in triples) for place in range(3))


def subvals(lst: Iterable[Any], replace: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """Replace some elements.

    Args:
      lst: the elements.
      replace: pairs of a position and a new element.
    """
    changed = dict(enumerate(lst)) | dict(replace)
    return tuple(changed.values())


def split_list(args: Sequence[Any], ns: Sequence[int]) -> list[list[Any]]:
    """Cut a list into pieces of some lengths, and the rest."""
    cuts = [0, *itertools.accumulate(ns)]
    pieces = [list(args[start:stop]) for start, stop in itertools.pairwise(cuts)]
    return [*pieces, list(args[cuts[-1] :])]


def split_dict(dct: dict[Any, Any], names: Iterable[Any]) -> list[Any]:
    """Return the values of a dict in a given order, which must name all of them."""
    unused = dict(dct)
    values = [unused.pop(name) for name in names]
    assert not unused
    return values


def split_merge(
    predicate: Callable[[Any], bool], xs: Sequence[Any]
) -> tuple[list[Any], list[Any], Callable[[Sequence[Any], Sequence[Any]], list[Any]]]:
    """Split a list in two, and return a function that puts two such lists together again."""
    sides = [bool(predicate(x)) for x in xs]

    def merge(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
        assert len(first) == sum(sides) and len(first) + len(second) == len(sides)
        sources = {True: iter(first), False: iter(second)}
        return [next(sources[side]) for side in sides]

    return (
        [x for x, side in zip(xs, sides, strict=True) if side],
        [x for x, side in zip(xs, sides, strict=True) if not side],
        merge,
    )


def concatenate(xs: Iterable[Iterable[Any]]) -> list[Any]:
    """Join lists."""
    return list(itertools.chain.from_iterable(xs))


def curry(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that takes its arguments in two calls."""
    return partial(partial, f)


def wrap_name(name: str, transform_name: str) -> str:
    """Write the name of a transformed function."""
    return f"{transform_name}({name})"


def ceil_of_ratio(x: int, y: int) -> int:
    """Divide integers and round up."""
    return -(-x // y)


def canonicalize_axis(axis: Any, num_dims: int) -> int:
    """Return the position of an axis that may be counted from the end."""
    position: int = operator.index(axis)
    if not -num_dims <= position < num_dims:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {num_dims}")
    return position % num_dims


def tuple_insert(t: tuple[Any, ...], idx: int, val: Any) -> tuple[Any, ...]:
    """Insert an element into a tuple."""
    assert 0 <= idx <= len(t), (idx, len(t))
    return (*t[:idx], val, *t[idx:])


def tuple_delete(t: tuple[Any, ...], idx: int) -> tuple[Any, ...]:
    """Return a tuple without one of its elements."""
    assert 0 <= idx < len(t), (idx, len(t))
    return (*t[:idx], *t[idx + 1 :])
