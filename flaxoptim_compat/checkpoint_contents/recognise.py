"""Finds the optimizers in a checkpoint, at any place in the tree."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from flaxoptim_compat.checkpoint_contents.fields import OptimizerKind
from flaxoptim_compat.checkpoint_contents.legacy import (
    generation,
    is_list_of_states,
    kind_of_entry,
    states_of,
)
from flaxoptim_compat.checkpoint_contents.optax_states import (
    injected,
    kind_of_moments,
    may_be_frozen_or_not,
    moments,
    with_inner_states,
)
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray
from flaxoptim_compat.checkpoint_files.trees import TreePath, at, leaves_of
from flaxoptim_compat.printable import one_line

OptimizerForm = Literal["legacy", "train-state", "nnx"]
# The entries of each form in a checkpoint.
_ENTRIES: dict[OptimizerForm, tuple[str, ...]] = {
    "legacy": ("target", "state"),
    "train-state": ("step", "params", "opt_state"),
    "nnx": ("model", "optimizer"),
}
_STATE = {"step", "param_states"}


class Parameter(NamedTuple):
    """A parameter of an optimizer; ``kind`` is None for a frozen parameter."""

    path: TreePath
    value: Any
    kind: OptimizerKind | None


@dataclasses.dataclass(frozen=True)
class FoundOptimizer:
    """An optimizer in a checkpoint.

    Args:
      path: the path of the optimizer in the tree.
      form: ``legacy``, an Optimizer of flax.optim; ``train-state``, a TrainState with optax; or
        ``nnx``, the parameters of a NNX model beside its nnx.Optimizer.
      node: the mapping at that path; for a nnx.Optimizer, the mapping of the same TrainState.
      parameters: the parameters, in the order of the tree.
      kinds: all kinds of optimizers, each once.
      layout: the layout in words, with the writer.
      parts_unknown: whether the file does not tell which parameters its optimizers move.
    """

    path: TreePath
    form: OptimizerForm
    node: Mapping[str, Any]
    parameters: tuple[Parameter, ...]
    kinds: tuple[OptimizerKind, ...]
    layout: str
    parts_unknown: bool = False

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the optimizer's entries; other entries may be beside them."""
        return _ENTRIES[self.form]

    @property
    def alone(self) -> bool:
        """True if there are no other entries beside the optimizer's."""
        inside = _ENTRIES["train-state"] if self.form == "nnx" else self.entries
        return set(self.node) <= {*inside}

    @property
    def entry_of_parameters(self) -> str:
        """The name of the optimizer's entry that holds the parameters."""
        return "target" if self.form == "legacy" else "params"

    @property
    def place(self) -> str:
        """The path of the optimizer in the checkpoint, for messages."""
        return one_line("/".join(self.path)) or "the top of the checkpoint"

    @functools.cached_property
    def step(self) -> Any:
        """The number of steps done: an int, or an array for copies on devices; None if unknown."""
        return number(self._stored_step)

    @property
    def _stored_step(self) -> Any:
        if self.form != "legacy":
            return self.node.get("step")
        return states_of(self.node["state"])[0]["step"]

    def check_step(self) -> None:
        """Refuse a step that no training reaches, such as NaN.

        Raises:
          CheckpointError: the step is no such number.
        """
        stored, step = self._stored_step, self.step
        is_step = stored is None or (step is not None and all(map(_is_step, np.ravel(step))))
        # An nnx checkpoint may keep the step in a variable, which is a mapping here.
        if not is_step and not isinstance(stored, Mapping):
            shown = stored if step is None else step
            raise CheckpointError(
                f"The optimizer at {self.place} has the step {shown!r:.60}, which is no number of"
                " steps that a training could have done. The file is damaged, or holds no"
                " optimizer: use an earlier checkpoint."
            )


def _is_step(number_of_steps: Any) -> bool:
    # Flax and optax count in int32. The comparison is false for NaN.
    return bool(0 <= number_of_steps < 2**31) and number_of_steps == int(number_of_steps)


def number(value: Any) -> Any:
    """The value of a stored number or array of numbers; None for anything else."""
    if isinstance(value, StoredArray) and value.dtype.kind in "iuf":
        values = value.read()
        return values.item() if values.size == 1 else values
    return value if isinstance(value, int | float) else None


def find_optimizers(tree: Any) -> list[FoundOptimizer]:
    """All optimizers in a tree, in the order of the tree."""
    return list(_optimizers_in(tree, ())) if isinstance(tree, Mapping) else []


def _optimizers_in(node: Mapping[str, Any], path: TreePath) -> Iterator[FoundOptimizer]:
    optimizer = None
    if _is_legacy(node):
        optimizer = _legacy(node, path)
    elif "params" in node and "opt_state" in node:
        optimizer = _train_state(node, path)
    elif _is_nnx(node):
        optimizer = _nnx(node, path)
    if optimizer is not None:
        yield optimizer
    for name, child in node.items():
        if isinstance(child, Mapping) and (optimizer is None or name not in optimizer.entries):
            yield from _optimizers_in(child, (*path, name))


def _is_legacy(node: Mapping[str, Any]) -> bool:
    state = node.get("state")
    if "target" not in node or not isinstance(state, Mapping):
        return False
    # An npz file cannot hold empty entries, such as the states of GradientDescent.
    return ("step" in state and set(state) <= _STATE) or is_list_of_states(state)


def _legacy(node: Mapping[str, Any], path: TreePath) -> FoundOptimizer:
    target, state = node["target"], node["state"]
    found = list(parameters_of(target))
    listed = is_list_of_states(state)
    if listed:
        entries = [entry for each in states_of(state) for entry in each["param_states"].values()]
    elif "param_states" in state:
        entries = [at(state["param_states"], where) for where, _ in found]
    else:
        entries = [{} for _ in found]
    kinds = [kind_of_entry(entry) for entry in entries]
    # A list of states does not tell which parameter an entry belongs to.
    owners = [None] * len(found) if listed else kinds
    parameters = tuple(Parameter(*each, kind) for each, kind in zip(found, owners, strict=True))
    return FoundOptimizer(
        path, "legacy", node, parameters, _each_once(kinds), generation(node), listed
    )


def _train_state(node: Mapping[str, Any], path: TreePath) -> FoundOptimizer:
    params, opt_state = node["params"], node["opt_state"]
    all_moments = moments(opt_state)
    parameters = [
        Parameter(where, value, kind_of_moments(all_moments, where))
        for where, value in parameters_of(params)
    ]
    kinds = [parameter.kind for parameter in parameters]
    layout = "a TrainState with optax"
    if injected(opt_state):
        layout += " and inject_hyperparams"
    return FoundOptimizer(
        path,
        "train-state",
        node,
        tuple(parameters),
        _each_once(kinds),
        layout,
        may_be_frozen_or_not(opt_state, kinds),
    )


def _is_nnx(node: Mapping[str, Any]) -> bool:
    optimizer = node.get("optimizer")
    is_model = isinstance(node.get("model"), Mapping)
    return is_model and isinstance(optimizer, Mapping) and "opt_state" in optimizer


def _nnx(node: Mapping[str, Any], path: TreePath) -> FoundOptimizer:
    beside = {name: child for name, child in node.items() if name not in _ENTRIES["nnx"]}
    optimizer = {**node["optimizer"], "params": node["model"]}
    optimizer["opt_state"] = with_inner_states(optimizer["opt_state"])
    train_state = _train_state({**beside, **optimizer}, path)
    layout = train_state.layout.replace("a TrainState", "a nnx.Optimizer")
    return dataclasses.replace(train_state, form="nnx", layout=layout)


def _each_once(kinds: list[OptimizerKind | None]) -> tuple[OptimizerKind, ...]:
    return tuple(dict.fromkeys(kind for kind in kinds if kind is not None))


def parameters_of(tree: Any) -> Iterator[tuple[TreePath, Any]]:
    """The arrays and numbers of a tree with their paths."""
    for where, leaf in leaves_of(tree):
        if isinstance(leaf, StoredArray | int | float | complex):
            yield where, leaf
