"""Selecting parameters by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flax import traverse_util
from flax.core import unfreeze

from flaxoptim_compat.bridge.definition import Leaf, PyTree
from flaxoptim_compat.bridge.masks import nothing_but_a_filter


@nothing_but_a_filter
class ModelParamTraversal(traverse_util.ModelParamTraversal):
    """Selects the parameters whose path and value a function accepts.

    It is Flax's own class, with two differences: it does not warn that traversals will go, which
    this package makes untrue, and it accepts the models of ``flax.nn``, Flax's first module API.

    Args:
      filter_fn: takes a path such as ``/encoder/dense/kernel`` and a value with ``shape`` and
        ``dtype``; returns whether to select the parameter.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> ModelParamTraversal:
        """Make a traversal without a warning."""
        del args, kwargs
        return object.__new__(cls)

    def __init__(self, filter_fn: Callable[[str, Any], Any]) -> None:
        self._filter_fn = filter_fn

    def __repr__(self) -> str:
        return selects(self)

    def __getattr__(self, attr: str) -> Any:
        # Flax's traversals answer any name, also those with which copy and pickle ask for methods.
        if attr.startswith("__"):
            raise AttributeError(attr)
        parent: Any = super()
        return parent.__getattr__(attr)

    @staticmethod
    def _check_inputs(inputs: PyTree) -> None:
        if not isinstance(inputs, Mapping) and not _is_model(inputs):
            raise ValueError(
                "ModelParamTraversal selects parameters by name: its input must be a nested dict"
                f" or a flax.nn Model, not {type(inputs).__name__}."
            )

    @classmethod
    def _get_params_dict(cls, inputs: PyTree) -> PyTree:
        cls._check_inputs(inputs)
        return unfreeze(inputs.params if _is_model(inputs) else inputs)

    def iterate(self, inputs: PyTree) -> Iterator[Leaf]:
        """The selected values, in the order of their names."""
        parent: Any = super()
        yield from parent.iterate(self._get_params_dict(inputs))

    def update(self, fn: Callable[[Leaf], Leaf], inputs: PyTree) -> PyTree:
        """The inputs with every selected value replaced by a function of it."""
        self._check_inputs(inputs)
        if _is_model(inputs):
            return inputs.replace(params=self.update(fn, inputs.params))
        parent: Any = super()
        return parent.update(fn, inputs)


def _is_model(inputs: PyTree) -> bool:
    return not isinstance(inputs, Mapping) and isinstance(getattr(inputs, "params", None), Mapping)


def selects(traversal: Any) -> str:
    """A traversal, with the name of its function in place of the address."""
    filter_fn = getattr(traversal, "__dict__", {}).get("_filter_fn")
    name = "" if filter_fn is None else getattr(filter_fn, "__qualname__", repr(filter_fn))
    return f"{type(traversal).__name__}({name})"
