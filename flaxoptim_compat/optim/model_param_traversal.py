"""A traversal that selects parameters by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from flax.core import FrozenDict, unfreeze
from flax.traverse_util import empty_node, flatten_dict, unflatten_dict

from flaxoptim_compat.bridge.definition import Leaf, PyTree
from flaxoptim_compat.bridge.traversals import FLAX_MODEL_PARAM_TRAVERSAL


class ModelParamTraversal(FLAX_MODEL_PARAM_TRAVERSAL):  # type: ignore[misc]
    """Selects the parameters whose path and value a function accepts.

    The class does the same as Flax's own class, and also works with a Flax that has removed that
    class. Models of ``flax.nn``, Flax's first module API, are accepted too.

    Args:
      filter_fn: takes a path such as ``/encoder/dense/kernel`` and a value with ``shape`` and
        ``dtype``; returns whether to select the parameter.
    """

    # Tells ``bridge.masks.select`` that such a traversal selects by its filter and nothing else.
    nothing_but_a_filter = True

    def __new__(cls, *args: Any, **kwargs: Any) -> ModelParamTraversal:
        """Make a traversal without Flax's warning that traversals are deprecated."""
        del args, kwargs
        return object.__new__(cls)

    def __init__(self, filter_fn: Callable[[str, Any], Any]) -> None:
        self._filter_fn = filter_fn

    def __repr__(self) -> str:
        return selects(self)

    def __getattr__(self, attr: str) -> Any:
        # Flax's traversals have every attribute. Without an error, copy and pickle would take one
        # for a method of theirs.
        if attr.startswith("__"):
            raise AttributeError(attr)
        parent: Any = super()
        return parent.__getattr__(attr)

    # Flax 0.2 and 0.3 had these two methods, under these names.
    @staticmethod
    def _check_inputs(inputs: PyTree) -> None:
        if not isinstance(inputs, dict | FrozenDict) and not _is_model(inputs):
            raise ValueError(
                "ModelParamTraversal selects parameters by name: its input must be a nested dict"
                f" or a Model of flax.nn, not {type(inputs).__name__}."
            )

    @classmethod
    def _get_params_dict(cls, inputs: PyTree) -> PyTree:
        cls._check_inputs(inputs)
        return unfreeze(inputs.params if _is_model(inputs) else inputs)

    def iterate(self, inputs: PyTree) -> Iterator[Leaf]:
        """The selected values, in the order of their names."""
        for _, path, value in self._by_name(inputs):
            if value is not empty_node and self._filter_fn(path, value):
                yield value

    def update(self, fn: Callable[[Leaf], Leaf], inputs: PyTree) -> PyTree:
        """The inputs with every selected value replaced by a function of it."""
        if _is_model(inputs):
            return inputs.replace(params=self.update(fn, inputs.params))
        changed = {}
        for key, path, value in self._by_name(inputs):
            selected = value is not empty_node and self._filter_fn(path, value)
            changed[key] = fn(value) if selected else value
        params = unflatten_dict(changed)
        return FrozenDict(params) if isinstance(inputs, FrozenDict) else params

    def _by_name(self, inputs: PyTree) -> list[tuple[tuple[str, ...], str, Leaf]]:
        """The key, the path and the value of each parameter, and of each empty dict."""
        flat = flatten_dict(self._get_params_dict(inputs), keep_empty_nodes=True)
        named = sorted(flat.items(), key=itemgetter(0))
        return [(key, "/" + "/".join(key), value) for key, value in named]


def _is_model(inputs: PyTree) -> bool:
    return not isinstance(inputs, Mapping) and isinstance(getattr(inputs, "params", None), Mapping)


def selects(traversal: Any) -> str:
    """The text for a traversal, with the name of its function in place of an address."""
    filter_fn = getattr(traversal, "__dict__", {}).get("_filter_fn")
    name = "" if filter_fn is None else getattr(filter_fn, "__qualname__", repr(filter_fn))
    return f"{type(traversal).__name__}({name})"
