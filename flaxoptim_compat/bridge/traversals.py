"""The traversals of ``flax.traverse_util``, for a Flax that has removed them.

A traversal selects values in a structure. ``iterate`` yields the values, and ``update`` returns a
copy of the structure with a function of each value in its place. The structure itself never
changes.
"""

from __future__ import annotations

import abc
import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import jax
from flax import traverse_util

Change = Callable[[Any], Any]


class Traversal(abc.ABC):
    """Base class of all traversals, with methods that compose them.

    An attribute or an item of a traversal is another traversal: that of this attribute or item of
    each selected value.
    """

    @abc.abstractmethod
    def update(self, fn: Change, inputs: Any) -> Any:
        """The inputs with each selected value replaced by a function of it."""

    @abc.abstractmethod
    def iterate(self, inputs: Any) -> Iterator[Any]:
        """The selected values, in the order of the traversal."""

    def set(self, values: list[Any], inputs: Any) -> Any:
        """The inputs with the selected values replaced; the list of values is empty afterwards.

        Raises:
          ValueError: the list has fewer or more values than the traversal selects.
        """

        def next_value(old: Any) -> Any:
            del old
            if not values:
                raise ValueError("Not enough values provided: the traversal selects more.")
            return values.pop(0)

        changed = self.update(next_value, inputs)
        if values:
            raise ValueError("Too many values provided: the traversal selects fewer.")
        return changed

    def compose(self, other: Traversal) -> Traversal:
        """A traversal of the values that another traversal selects in each selected value."""
        return TraverseCompose(self, other)

    def merge(self, *traversals: Traversal) -> Traversal:
        """A traversal of the values that several traversals select in each selected value."""
        return self.compose(TraverseMerge(*traversals))

    def each(self) -> Traversal:
        """A traversal of the entries of the selected containers."""
        return self.compose(TraverseEach())

    def tree(self) -> Traversal:
        """A traversal of the leaves of the selected pytrees."""
        return self.compose(TraverseTree())

    def filter(self, fn: Callable[[Any], Any]) -> Traversal:
        """A traversal of the selected values that a function accepts."""
        return self.compose(TraverseFilter(fn))

    def __getattr__(self, attr: str) -> Traversal:
        # copy and pickle look for methods with such names, and must not find a traversal.
        if attr.startswith("__"):
            raise AttributeError(attr)
        return self.compose(TraverseAttr(attr))

    def __getitem__(self, key: Any) -> Traversal:
        return self.compose(TraverseItem(key))

    # Without this, Python would call __getitem__ without end to iterate.
    __iter__ = None


class TraverseId(Traversal):
    """Selects the structure itself."""

    def update(self, fn: Change, inputs: Any) -> Any:  # noqa: D102
        return fn(inputs)

    def iterate(self, inputs: Any) -> Iterator[Any]:  # noqa: D102
        yield inputs


class TraverseCompose(Traversal):
    """Selects the values that the second traversal selects in each value of the first one."""

    def __init__(self, x: Traversal, y: Traversal) -> None:
        self._x = x
        self._y = y

    def update(self, fn: Change, inputs: Any) -> Any:  # noqa: D102
        return self._x.update(lambda value: self._y.update(fn, value), inputs)

    def iterate(self, inputs: Any) -> Iterator[Any]:  # noqa: D102
        for value in self._x.iterate(inputs):
            yield from self._y.iterate(value)


class TraverseMerge(Traversal):
    """Selects the values of several traversals; each one updates the result of the one before."""

    def __init__(self, *traversals: Traversal) -> None:
        self._traversals = traversals

    def update(self, fn: Change, inputs: Any) -> Any:  # noqa: D102
        for traversal in self._traversals:
            inputs = traversal.update(fn, inputs)
        return inputs

    def iterate(self, inputs: Any) -> Iterator[Any]:  # noqa: D102
        for traversal in self._traversals:
            yield from traversal.iterate(inputs)


class TraverseFilter(Traversal):
    """Selects the value if a function accepts it."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    def update(self, fn: Change, inputs: Any) -> Any:  # noqa: D102
        return fn(inputs) if self._fn(inputs) else inputs

    def iterate(self, inputs: Any) -> Iterator[Any]:  # noqa: D102
        if self._fn(inputs):
            yield inputs


class TraverseAttr(Traversal):
    """Selects an attribute."""

    def __init__(self, attr: str) -> None:
        self._attr = attr

    def update(self, fn: Change, inputs: Any) -> Any:  # noqa: D102
        value = {self._attr: fn(getattr(inputs, self._attr))}
        if hasattr(inputs, "_fields"):
            return inputs._replace(**value)
        if dataclasses.is_dataclass(inputs):
            return dataclasses.replace(inputs, **value)  # type: ignore[type-var]
        changed = copy.copy(inputs)
        setattr(changed, *value.popitem())
        return changed

    def iterate(self, inputs: Any) -> Iterator[Any]:  # noqa: D102
        yield getattr(inputs, self._attr)


class TraverseItem(Traversal):
    """Selects an item by its key, or the items of a slice."""

    def __init__(self, key: Any) -> None:
        self._key = key

    def update(self, fn: Change, inputs: Any) -> Any:  # noqa: D102
        if not isinstance(inputs, tuple):
            changed = copy.copy(inputs)
            changed[self._key] = fn(changed[self._key])
            return changed
        # As in Flax, the index -1 selects nothing: the slice from -1 to 0 is empty.
        of_slice = isinstance(self._key, slice)
        chosen = range(len(inputs))[self._key if of_slice else slice(self._key, self._key + 1)]
        items = [fn(item) if at in chosen else item for at, item in enumerate(inputs)]
        kind: Any = type(inputs)
        return kind(*items) if hasattr(inputs, "_fields") else kind(items)

    def iterate(self, inputs: Any) -> Iterator[Any]:  # noqa: D102
        if isinstance(self._key, slice):
            yield from inputs[self._key]
        else:
            yield inputs[self._key]


class TraverseEach(Traversal):
    """Selects the entries of a list, a tuple or a dict."""

    def update(self, fn: Change, inputs: Any) -> Any:  # noqa: D102
        kind = type(inputs)
        if kind is dict:
            return {key: fn(value) for key, value in inputs.items()}
        if kind not in (list, tuple):
            raise ValueError(f"each() updates a list, a tuple or a dict, not a {kind.__name__}.")
        return kind(map(fn, inputs))

    def iterate(self, inputs: Any) -> Iterator[Any]:  # noqa: D102
        yield from inputs.values() if isinstance(inputs, dict) else inputs


class TraverseTree(Traversal):
    """Selects the leaves of a pytree."""

    def update(self, fn: Change, inputs: Any) -> Any:  # noqa: D102
        return jax.tree.map(fn, inputs)

    def iterate(self, inputs: Any) -> Iterator[Any]:  # noqa: D102
        yield from jax.tree.leaves(inputs)


t_identity = TraverseId()

# Flax's own classes, if the installed Flax has them.
FLAX_TRAVERSAL: type[Any] = getattr(traverse_util, "Traversal", Traversal)
FLAX_MODEL_PARAM_TRAVERSAL: type[Any] = getattr(traverse_util, "ModelParamTraversal", Traversal)
