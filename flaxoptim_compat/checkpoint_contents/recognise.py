"""Finding the optimizers in a checkpoint, wherever in the tree they stand."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from flaxoptim_compat.checkpoint_contents.fields import Kind
from flaxoptim_compat.checkpoint_contents.legacy import (
    generation,
    is_list_of_states,
    kind_of_entry,
    states_of_list,
)
from flaxoptim_compat.checkpoint_contents.optax_states import (
    injected,
    kind_of_moments,
    may_be_frozen_or_not,
    moments,
    with_inner_states,
)
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray
from flaxoptim_compat.checkpoint_files.trees import Path, at, leaves_of
from flaxoptim_compat.printable import one_line

Form = Literal["legacy", "train-state", "nnx"]
# The entries of each form in a checkpoint.
_ENTRIES: dict[Form, tuple[str, ...]] = {
    "legacy": ("target", "state"),
    "train-state": ("step", "params", "opt_state"),
    "nnx": ("model", "optimizer"),
}
_STATE = {"step", "param_states"}


class Parameter(NamedTuple):
    """A parameter of an optimizer: ``kind`` is None where nothing moves it."""

    path: Path
    value: Any
    kind: Kind | None


@dataclasses.dataclass(frozen=True)
class FoundOptimizer:
    """An optimizer in a checkpoint.

    Args:
      path: where in the tree it stands.
      form: ``legacy``, an Optimizer of flax.optim; ``train-state``, a TrainState with optax; or
        ``nnx``, the parameters of a NNX model beside its nnx.Optimizer.
      node: the mapping at that path; of a nnx.Optimizer, that of the TrainState that it could be.
      parameters: in the order of the tree.
      kinds: all kinds, each once.
      layout: who wrote it, in words.
      parts_unknown: whether the file does not tell which parameters its optimizers move.
    """

    path: Path
    form: Form
    node: Mapping[str, Any]
    parameters: tuple[Parameter, ...]
    kinds: tuple[Kind, ...]
    layout: str
    parts_unknown: bool = False

    @property
    def entries(self) -> tuple[str, ...]:
        """The names in the checkpoint that are the optimizer's; others only stand beside them."""
        return _ENTRIES[self.form]

    @property
    def alone(self) -> bool:
        """True if no other entries stand beside the optimizer's."""
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

    @property
    def frozen(self) -> int:
        """How many parameters nothing moves, as far as the file tells."""
        if self.parts_unknown:
            return 0
        return sum(parameter.kind is None for parameter in self.parameters)

    @functools.cached_property
    def step(self) -> Any:
        """The number of steps done: an int, or an array if there are copies; None if unknown."""
        return number(self._stored_step)

    @property
    def _stored_step(self) -> Any:
        if self.form != "legacy":
            return self.node.get("step")
        state = self.node["state"]
        if is_list_of_states(state):
            state = next(iter(states_of_list(state)))
        return state["step"]

    def check_step(self) -> None:
        """See that the step is one.

        Raises:
          CheckpointError: it is none that any training reaches, such as NaN.
        """
        stored, step = self._stored_step, self.step
        is_step = stored is None or (step is not None and all(map(_is_step, np.ravel(step))))
        # An nnx checkpoint keeps it in a variable, of which others know.
        if not is_step and not isinstance(stored, Mapping):
            shown = stored if step is None else step
            raise CheckpointError(
                f"The optimizer at {self.place} has the step {shown!r:.60}, which is no number of"
                " steps that a training could have done. The file is damaged, or is none of an"
                " optimizer: use an earlier one."
            )


def _is_step(number_of_steps: Any) -> bool:
    # Flax and optax count in int32. NaN is not in any range.
    return bool(0 <= number_of_steps < 2**31) and number_of_steps == int(number_of_steps)


def number(value: Any) -> Any:
    """The value of a stored number or array of numbers; None if it is neither."""
    if isinstance(value, StoredArray) and value.dtype.kind in "iuf":
        values = value.read()
        return values.item() if values.size == 1 else values
    return value if isinstance(value, int | float) else None


def find_optimizers(tree: Any) -> list[FoundOptimizer]:
    """All optimizers in a tree, in its order."""
    return list(_found(tree, ())) if isinstance(tree, Mapping) else []


def _found(node: Mapping[str, Any], path: Path) -> Iterator[FoundOptimizer]:
    found = None
    if _is_legacy(node):
        found = _legacy(node, path)
    elif "params" in node and "opt_state" in node:
        found = _train_state(node, path)
    elif _is_nnx(node):
        found = _nnx(node, path)
    if found is not None:
        yield found
    for name, child in node.items():
        if isinstance(child, Mapping) and (found is None or name not in found.entries):
            yield from _found(child, (*path, name))


def _is_legacy(node: Mapping[str, Any]) -> bool:
    state = node.get("state")
    if "target" not in node or not isinstance(state, Mapping):
        return False
    # An npz file has no place for what is empty, as all states of GradientDescent are.
    return ("step" in state and set(state) <= _STATE) or is_list_of_states(state)


def _legacy(node: Mapping[str, Any], path: Path) -> FoundOptimizer:
    target, state = node["target"], node["state"]
    listed = is_list_of_states(state)
    if listed:
        entries = [
            entry for each in states_of_list(state) for entry in each["param_states"].values()
        ]
    elif "param_states" in state:
        entries = [at(state["param_states"], where) for where, _ in parameters_of(target)]
    else:
        entries = [{} for _ in parameters_of(target)]
    kinds = [kind_of_entry(entry) for entry in entries]
    # A list of states does not say which of its entries is whose.
    owned = [None] * len(entries) if listed else kinds
    parameters = [
        Parameter(where, value, owned[index] if index < len(owned) else None)
        for index, (where, value) in enumerate(parameters_of(target))
    ]
    return FoundOptimizer(
        path, "legacy", node, tuple(parameters), _each_once(kinds), generation(node), listed
    )


def _train_state(node: Mapping[str, Any], path: Path) -> FoundOptimizer:
    params, opt_state = node["params"], node["opt_state"]
    found = moments(opt_state)
    parameters = [
        Parameter(where, value, kind_of_moments(found, where))
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


def _nnx(node: Mapping[str, Any], path: Path) -> FoundOptimizer:
    beside = {name: child for name, child in node.items() if name not in _ENTRIES["nnx"]}
    optimizer = {**node["optimizer"], "params": node["model"]}
    optimizer["opt_state"] = with_inner_states(optimizer["opt_state"])
    found = _train_state({**beside, **optimizer}, path)
    layout = found.layout.replace("a TrainState", "a nnx.Optimizer")
    return dataclasses.replace(found, form="nnx", layout=layout)


def _each_once(kinds: list[Kind | None]) -> tuple[Kind, ...]:
    return tuple(dict.fromkeys(kind for kind in kinds if kind is not None))


def parameters_of(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The arrays and numbers of a tree with their paths."""
    for where, leaf in leaves_of(tree, path):
        if isinstance(leaf, StoredArray | int | float | complex):
            yield where, leaf
