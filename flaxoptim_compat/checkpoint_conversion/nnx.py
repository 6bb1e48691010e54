"""A TrainState in a checkpoint as a nnx.Optimizer with the parameters of its model, and back.

Both hold the same arrays. ``nnx.to_pure_dict`` leaves out empty entries, and the parameters may
have other paths in the model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from flax import serialization

from flaxoptim_compat.bridge.pairing import Paths, renamed
from flaxoptim_compat.checkpoint_contents.optax_states import injected, moments
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
from flaxoptim_compat.checkpoint_files.trees import TreePath, at, replaced


def nnx_entries(train_state: Mapping[str, Any], paths: Paths | None) -> dict[str, Any]:
    """The ``nnx.to_pure_dict`` of a model and its optimizer, made from a TrainState.

    Args:
      train_state: the state dict of the TrainState.
      paths: other paths in the model.

    Raises:
      CheckpointError: the step is unknown, or there are copies for devices.
      ValueError: no path begins with a key of ``paths``, or two parameters get the same path.
    """
    params, opt_state = _renamed(train_state["params"], train_state["opt_state"], paths)
    step = number(train_state.get("step"))
    if step is None:
        raise CheckpointError(
            "the TrainState has no number 'step', so the number of steps done is not known. Save"
            " the whole TrainState, with its step."
        )
    refuse_copies(step)
    return {
        "model": _without_empty(params),
        "optimizer": {"opt_state": _without_empty(opt_state), "step": np.asarray(step, np.uint32)},
    }


def as_train_state(optimizer: FoundOptimizer, paths: Paths | None) -> FoundOptimizer:
    """A nnx.Optimizer with the paths of the old program, as a TrainState has them.

    Args:
      optimizer: the nnx.Optimizer in a checkpoint.
      paths: other paths in the old program.

    Raises:
      ValueError: no path begins with a key of ``paths``, or two parameters get the same path.
    """
    params, opt_state = _renamed(optimizer.node["params"], optimizer.node["opt_state"], paths)
    node = {**optimizer.node, "params": params, "opt_state": opt_state}
    (old,) = find_optimizers({name: node[name] for name in ("params", "opt_state")})
    return dataclasses.replace(optimizer, node=node, parameters=old.parameters)


def with_empty_parts(optimizer: FoundOptimizer, params: Any, choice: Choice) -> FoundOptimizer:
    """The TrainState with the parts of its chain that have no state, as in a file of TrainState.

    Args:
      optimizer: the TrainState.
      params: its parameters; only their shapes and dtypes count.
      choice: the definition.
    """
    conversion = choice.conversion(params)
    fresh = serialization.to_state_dict(conversion.opt_state(0, fresh_states(params, choice)))
    opt_state = optimizer.node["opt_state"]
    if not injected(opt_state):
        # The program made the chain itself, without inject_hyperparams.
        fresh = fresh.get("inner_state", fresh)
    opt_state = with_empty_entries(fresh, opt_state)
    return dataclasses.replace(optimizer, node={**optimizer.node, "opt_state": opt_state})


def _renamed(params: Any, opt_state: Any, paths: Paths | None) -> tuple[Any, Any]:
    if not paths:
        return params, opt_state
    old = [path for path, _ in parameters_of(params)]
    new = [tuple(path.split("/")) for path in renamed(map("/".join, old), paths)]
    places = dict(zip(old, new, strict=True))
    for each in moments(opt_state):
        for tree in each.trees:
            path = (*each.path, *tree)
            if isinstance(values := at(opt_state, path), Mapping):
                opt_state = replaced(opt_state, path, _moved(values, places))
    return _moved(params, places), opt_state


def _moved(tree: Any, places: Mapping[TreePath, TreePath]) -> dict[str, Any]:
    """A tree with the values at old paths moved to new paths; missing values are left out."""
    moved: dict[str, Any] = {}
    # In jax's order, as Flax writes them.
    for old, new in sorted(places.items(), key=lambda place: place[1]):
        if (value := at(tree, old)) is not None:
            below = moved
            for name in new[:-1]:
                below = below.setdefault(name, {})
            below[new[-1]] = value
    return moved


def _without_empty(tree: Any) -> Any:
    """The tree without None and empty mappings, which a pure dict leaves out."""
    if not isinstance(tree, Mapping):
        return tree
    children = {name: _without_empty(child) for name, child in tree.items()}
    return {name: child for name, child in children.items() if child is not None and child != {}}
