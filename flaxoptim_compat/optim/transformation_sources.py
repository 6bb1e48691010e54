"""Where the transformation of ``from_optax`` comes from: it is given, or a function makes it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import jax
import optax
from flax import struct

from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.definition import HyperParams, PyTree
from flaxoptim_compat.bridge.equality import same


class Fixed:
    """A transformation, whose hyper-parameters are all in its state."""

    def __init__(self, tx: optax.GradientTransformation) -> None:
        self._tx = tx

    def transformation(
        self, hyper_params: HyperParams, params: PyTree, inject_arrays: bool
    ) -> tuple[optax.GradientTransformation, list[str]]:
        """The transformation, and the names that are to be set in its state."""
        del params, inject_arrays
        return self._tx, list(hp.fields_of(hyper_params))

    def override(self, hyper_params: HyperParams, overrides: Mapping[str, Any]) -> HyperParams:
        """Any name: the state will tell whether it has it."""
        values = hp.fields_of(hyper_params) | dict(overrides)
        return class_of(tuple(values))(**values)

    def check(self, hyper_params: HyperParams) -> None:
        """Do nothing: a value that is missing is in the state."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fixed) and same(self._tx, other._tx)

    def __hash__(self) -> int:
        return hash(Fixed)


class Made:
    """A function that makes a transformation out of hyper-parameters."""

    def __init__(self, make: Callable[..., optax.GradientTransformation]) -> None:
        self._make = make

    def transformation(
        self, hyper_params: HyperParams, params: PyTree, inject_arrays: bool
    ) -> tuple[optax.GradientTransformation, list[str]]:
        """The transformation, with the learning rate in its state, and so the names in there."""
        values = hp.fields_of(hyper_params)
        names = ["learning_rate"] if "learning_rate" in values else []
        if names and values["learning_rate"] is None:
            hyper_params = hyper_params.replace(learning_rate=0.0)
        elif names and not inject_arrays and hp.is_array(values["learning_rate"]):
            names = []
        tx = hp.inject(
            lambda values: self._make(**hp.fields_of(values)),
            hyper_params,
            tuple(names),
            hp.float_dtype(jax.tree.leaves(params)),
        )
        return tx, names

    def override(self, hyper_params: HyperParams, overrides: Mapping[str, Any]) -> HyperParams:
        """The arguments of the function, some of them replaced."""
        return hp.replace_known(_name(self._make), hyper_params, overrides)

    def check(self, hyper_params: HyperParams) -> None:
        """Raise the AssertionError of a learning rate that is missing."""
        created = f"from_optax({_name(self._make)}, learning_rate=...)"
        hp.refuse_missing_rate("The definition", created, hp.fields_of(hyper_params))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Made) and same(self._make, other._make)

    def __hash__(self) -> int:
        return hash(Made)


@functools.cache
def class_of(names: tuple[str, ...]) -> Any:
    """The class of hyper-parameters with these names: always the same, so that they compare."""
    annotations = {"__annotations__": dict.fromkeys(names, Any), "__module__": __name__}
    return struct.dataclass(type("OptaxHyperParams", (), annotations))


def _name(make: Callable[..., Any]) -> str:
    return getattr(make, "__qualname__", "the function")


def arguments_of(make: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of a function by name; a learning rate that is missing is None."""
    parameters = inspect.signature(make).parameters.values()
    if not any(each.kind is each.VAR_KEYWORD for each in parameters):
        hp.refuse_unknown(_name(make), given, [each.name for each in parameters])
    named = [
        each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    values = {each.name: each.default for each in named} | dict(given)
    if values.get("learning_rate") is inspect.Parameter.empty:
        values["learning_rate"] = None
    missing = [name for name, value in values.items() if value is inspect.Parameter.empty]
    if missing:
        raise TypeError(
            f"{_name(make)} needs {', '.join(missing)}: give from_optax(..., {missing[0]}=...)."
        )
    if callable(values.get("learning_rate")):
        raise ValueError(
            "A schedule cannot be overridden for one step. Give its value with each step,"
            " optimizer.apply_gradient(grads, learning_rate=schedule(step)), or wrap the whole"
            f" transformation, from_optax({_name(make)}(schedule))."
        )
    return values
