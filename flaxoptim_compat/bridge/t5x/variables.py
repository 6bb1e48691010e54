"""The variables of a model, as its initialization returns them, in the parts that T5X keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from flax import core
from flax.core import FrozenDict
from flax.linen import partitioning
from flax.traverse_util import flatten_dict

from flaxoptim_compat.bridge.definition import PyTree

EMPTY_DICT: FrozenDict[str, Any] = core.freeze({})

_AXES = "_axes"


class ModelVariables(NamedTuple):
    """Parameters and the other collections; the axes of a collection are None without any."""

    params: PyTree
    params_axes: Any
    flax_mutables: Any
    flax_mutables_axes: Any


def split(model_variables: Any) -> ModelVariables:
    """Take variables apart, and check that whatever comes with axes has them all.

    Args:
      model_variables: a dict or FrozenDict with the collection ``params``; the axes of a collection
        stand in another one, by its name and ``_axes``.

    Raises:
      KeyError: there are no parameters, or there are axes of a collection that is not there.
      ValueError: there are axes, but not of all variables of the collection.
    """
    rest, params = core.pop(model_variables, "params")
    params_axes = None
    if "params_axes" in rest:
        rest, params_axes = core.pop(rest, "params_axes")
        _expect_axes(params, params_axes)
    mutables, axes = {}, {}
    for name, collection in rest.items():
        if name.endswith(_AXES):
            owner = name.removesuffix(_AXES)
            axes[owner] = collection
            _expect_axes(rest[owner], collection)
        else:
            mutables[name] = collection
    return ModelVariables(params, params_axes, core.freeze(mutables), core.freeze(axes) or None)


def axis_names(axes: PyTree) -> Any:
    """A PartitionSpec of names for each variable, from the axes that the model gave."""
    return partitioning.get_axis_names(axes)


def unfrozen_entry(flax_mutables: Any) -> dict[str, Any]:
    """The entry of the mutable collections in a state dict; none at all if there are none."""
    return {"flax_mutables": core.unfreeze(flax_mutables)} if flax_mutables else {}


def frozen_entry(state_dict: Mapping[str, Any]) -> Any:
    """The mutable collections out of a state dict."""
    return core.freeze(state_dict["flax_mutables"]) if "flax_mutables" in state_dict else EMPTY_DICT


def _expect_axes(variables: Any, axes: PyTree) -> None:
    missing = set(flatten_dict(variables, sep="/")) - set(flatten_dict(axis_names(axes), sep="/"))
    if missing:
        raise ValueError(f"Missing axis names for parameters: {missing}")
