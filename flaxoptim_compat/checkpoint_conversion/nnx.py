"""A TrainState in a checkpoint as a nnx.Optimizer with the parameters of its model, and back.

Both hold the same arrays. ``nnx.to_pure_dict`` leaves out what is empty, and the parameters may
have other paths in the model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from flax import serialization

from flaxoptim_compat.bridge.pairing import Paths, renamed
from flaxoptim_compat.checkpoint_contents.fields import WEIGHT_NORM_STATE
from flaxoptim_compat.checkpoint_contents.optax_states import Moments, injected, moments
from flaxoptim_compat.checkpoint_contents.recognise import (
    FoundOptimizer,
    find_optimizers,
    number,
    parameters_of,
)
from flaxoptim_compat.checkpoint_conversion.choice import Choice
from flaxoptim_compat.checkpoint_conversion.states import (
    fresh_states,
    refuse_copies,
    with_empty_entries,
)
from flaxoptim_compat.checkpoint_files.stored import CheckpointError
from flaxoptim_compat.checkpoint_files.trees import Path, at


def nnx_entries(train_state: Mapping[str, Any], paths: Paths | None) -> dict[str, Any]:
    """The ``nnx.to_pure_dict`` of a model and the optimizer that goes on from a TrainState.

    Args:
      train_state: its state dict.
      paths: what is called otherwise in the model.

    Raises:
      ValueError: no path begins with one that is renamed, or two get the same.
    """
    params, opt_state = _renamed(train_state["params"], train_state["opt_state"], paths)
    step = number(train_state.get("step"))
    if step is None:
        raise CheckpointError("it has no number 'step': how many steps were done is not known.")
    refuse_copies(step)
    return {
        "model": _without_empty(params),
        "optimizer": {"opt_state": _without_empty(opt_state), "step": np.asarray(step, np.uint32)},
    }


def as_train_state(found: FoundOptimizer, paths: Paths | None) -> FoundOptimizer:
    """A nnx.Optimizer as the TrainState that it could be, with other paths.

    Args:
      found: what was found in a checkpoint.
      paths: what is called otherwise in the old program.

    Raises:
      ValueError: no path begins with one that is renamed, or two get the same.
    """
    params, opt_state = _renamed(found.node["params"], found.node["opt_state"], paths)
    node = {**found.node, "params": params, "opt_state": opt_state}
    (old,) = find_optimizers({name: node[name] for name in ("params", "opt_state")})
    return dataclasses.replace(found, node=node, parameters=old.parameters)


def with_empty_parts(found: FoundOptimizer, params: Any, choice: Choice) -> FoundOptimizer:
    """The same TrainState with the parts of its chain that have no state, as its file would.

    Args:
      found: the TrainState.
      params: its parameters; only their shapes and dtypes count.
      choice: what moves which parameter.
    """
    conversion = choice.conversion(params)
    fresh = serialization.to_state_dict(conversion.opt_state(0, fresh_states(params, choice)))
    opt_state = found.node["opt_state"]
    if not injected(opt_state):
        # A chain that a program made by itself.
        fresh = fresh.get("inner_state", fresh)
    opt_state = with_empty_entries(fresh, opt_state)
    return dataclasses.replace(found, node={**found.node, "opt_state": opt_state})


def _renamed(params: Any, opt_state: Any, paths: Paths | None) -> tuple[Any, Any]:
    if not paths:
        return params, opt_state
    old = [path for path, _ in parameters_of(params)]
    new = [tuple(each.split("/")) for each in renamed(map("/".join, old), paths)]
    places = dict(zip(old, new, strict=True))
    by_path = {one.path: one for one in moments(opt_state)}
    return _moved(params, places), _with_moments(opt_state, (), by_path, places)


def _with_moments(
    node: Any, path: Path, by_path: Mapping[Path, Moments], places: Mapping[Path, Path]
) -> Any:
    """An optax state with the trees of its moments renamed."""
    if not isinstance(node, Mapping):
        return node
    one = by_path.get(path)
    fields = () if one is None else one.fields
    # Inside of weight_norm there is a tree of directions, and one of scales.
    nested = one is not None and one.weight_norm and frozenset(node) != WEIGHT_NORM_STATE
    children: dict[str, Any] = {}
    for name, child in node.items():
        if name not in fields:
            children[name] = _with_moments(child, (*path, name), by_path, places)
        elif nested and isinstance(child, Mapping):
            children[name] = {factor: _moved(tree, places) for factor, tree in child.items()}
        else:
            children[name] = _moved(child, places)
    return children


def _moved(tree: Any, places: Mapping[Path, Path]) -> dict[str, Any]:
    """The values at some paths of a tree, put at other paths; what is missing stays so."""
    moved: dict[str, Any] = {}
    # In the order of jax, in which Flax wrote them.
    for old, new in sorted(places.items(), key=lambda place: place[1]):
        if (value := at(tree, old)) is not None:
            below = moved
            for name in new[:-1]:
                below = below.setdefault(name, {})
            below[new[-1]] = value
    return moved


def _without_empty(tree: Any) -> Any:
    """The tree without None and mappings of nothing, which a pure dict has no place for."""
    if not isinstance(tree, Mapping):
        return tree
    children = {name: _without_empty(child) for name, child in tree.items()}
    return {name: child for name, child in children.items() if child is not None and child != {}}
