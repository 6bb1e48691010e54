"""An optimizer in a checkpoint with the shapes that its parameters have in today's program.

Values stay: axes of size one are added or removed, in the parameters, in their moments, and in
copies of the parameters beside the optimizer, such as averages.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from flax import serialization

from flaxoptim_compat.bridge.axes import Shape, differ_by_ones
from flaxoptim_compat.checkpoint_contents.recognise import Parameter, find_optimizers
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray, array_in_memory
from flaxoptim_compat.checkpoint_files.trees import TreePath, leaves_of, mapped, with_children

Shapes = dict[TreePath, Shape]


def shapes_by_place(like: Any, places: Sequence[str]) -> dict[str, Shapes]:
    """The new shapes of the parameters of optimizers, by the places of the optimizers.

    Args:
      like: parameters, as arrays or as shapes from ``jax.eval_shape``, or a dict of these by place;
        None if no shape changes.
      places: the places of the optimizers.

    Raises:
      CheckpointError: there is one tree of parameters for several optimizers.
    """
    if like is None:
        return {}
    if not (isinstance(like, Mapping) and like and set(like) <= set(places)):
        if len(places) > 1:
            raise CheckpointError(
                f"There are optimizers at {', '.join(places)}. Let --like return a dict of"
                " parameters, by these paths."
            )
        like = {places[0]: like}
    return {place: _shapes(serialization.to_state_dict(each)) for place, each in like.items()}


def _shapes(tree: Any) -> Shapes:
    return {path: np.shape(leaf) for path, leaf in leaves_of(tree)}


class Reshaping:
    """The change of an optimizer in a checkpoint to other shapes of its parameters.

    Args:
      entries: the entries of an Optimizer of flax.optim, a TrainState, or NNX.
      like: the new shapes of the parameters.

    Raises:
      CheckpointError: a parameter is missing or not expected, or differs in more than axes of size
        one; the message names it.
    """

    def __init__(self, entries: Mapping[str, Any], like: Shapes) -> None:
        (self._optimizer,) = find_optimizers(entries)
        parameters = {each.path: each for each in self._optimizer.parameters}
        self._before = {path: np.shape(each.value) for path, each in parameters.items()}
        _refuse_another_model(self._before, like)
        self._entries, self._like = entries, like
        self.changed = {path: parameters[path] for path in like if like[path] != self._before[path]}

    def __str__(self) -> str:
        if not self.changed:
            return "The parameters have the shapes of --like already."
        first = next(iter(self.changed))
        more = f", and {len(self.changed) - 1} more like it" if len(self.changed) > 1 else ""
        old, new = self._before[first], self._like[first]
        return f"{'/'.join(first)} had shape {old}, now {new}{more}, with the moments."

    def optimizer(self) -> dict[str, Any]:
        """The entries in the new shapes.

        Raises:
          CheckpointError: a moment cannot change its shape; the message names its parameter.
        """
        optimizer = self._optimizer
        if self.changed and optimizer.form == "legacy" and optimizer.parts_unknown:
            raise CheckpointError(
                "a list of states, as Flax 0.3.2 wrote it for a MultiOptimizer, does not tell which"
                " parameter a state belongs to. Convert the checkpoint --to train-state."
            )
        parameters = "model" if optimizer.form == "nnx" else optimizer.entry_of_parameters
        return {
            name: mapped(entry, self._parameter if name == parameters else self._moment)
            for name, entry in self._entries.items()
        }

    def copies(self, tree: Any, optimizers: Collection[TreePath], path: TreePath = ()) -> Any:
        """The tree with new shapes for copies of the parameters, such as their averages.

        A copy has the paths and the shapes of the parameters.

        Args:
          tree: the checkpoint.
          optimizers: the paths of the entries of optimizers, which stay.
          path: the path of the tree.
        """
        if not isinstance(tree, Mapping) or path in optimizers:
            return tree
        if _shapes(tree) == self._before:
            return mapped(tree, self._parameter)
        children = {
            name: self.copies(child, optimizers, (*path, name)) for name, child in tree.items()
        }
        return with_children(tree, children)

    def _parameter(self, path: TreePath, leaf: Any) -> Any:
        return _reshaped(leaf, self._like[path]) if path in self.changed else leaf

    def _moment(self, path: TreePath, leaf: Any) -> Any:
        owner, field = self._owner(path)
        if owner not in self.changed or not isinstance(leaf, StoredArray):
            return leaf
        if leaf.shape == () != self._before[owner]:
            return leaf  # a count, beside a single parameter without a name
        shape = _shape_of_moment(leaf.shape, field, self.changed[owner], self._like[owner])
        return _reshaped(leaf, shape)

    def _owner(self, path: TreePath) -> tuple[TreePath | None, TreePath]:
        """The path of the parameter in a path of the state, and the rest of the path."""
        if "param_states" in path:
            begin = path.index("param_states") + 1
            ends = range(len(path), begin - 1, -1)
            splits = [(path[begin:end], path[end:]) for end in ends]
        elif self._optimizer.form == "legacy":
            splits = []
        else:
            splits = [(path[begin:], path[:begin]) for begin in range(len(path) + 1)]
        # The longest first: the path of one parameter may end with that of another.
        return next((split for split in splits if split[0] in self._before), (None, ()))


def _refuse_another_model(before: Shapes, like: Shapes) -> None:
    for path in sorted(before.keys() ^ like.keys()):
        where = "is not in --like" if path in before else "of --like is not in the checkpoint"
        raise CheckpointError(
            f"the parameter {'/'.join(path)} {where}. Let --like return all parameters, without the"
            " other collections of the model, under their names in DESTINATION."
        )
    for path, shape in before.items():
        if shape != like[path] and not differ_by_ones(shape, like[path]):
            raise CheckpointError(
                f"the parameter {'/'.join(path)} has shape {shape}, and {like[path]} in --like."
                " Only axes of size one can be added or removed. Let --like return the parameters"
                " of the model that was saved."
            )


def _shape_of_moment(shape: Shape, field: TreePath, of: Parameter, new: Shape) -> Shape:
    """The new shape of a moment whose parameter gets another shape.

    Raises:
      CheckpointError: in the new shape, the optimizer would have other moments.
    """
    old, kind = np.shape(of.value), of.kind
    shapes = {old: new}
    reason = f"{'/'.join(field)} has shape {shape}"
    if kind is not None and kind.weight_norm and _has_scale(old):
        reason = "WeightNorm has a scale for each number of the last axis"
        same = _has_scale(new) and old[-1] == new[-1]
        shapes = {old: new, _of_scale(old): _of_scale(new)} if same else {}
    if kind is not None and "Adafactor" in kind.names:
        if shape == (1,) and {"v_row", "v_col", "m"}.intersection(field):
            return shape  # not in use
        if shape not in shapes:
            reason = "Adafactor keeps the second moment as averages over the two largest axes"
            if len(old) > 1 and sorted(old)[-2] > 1:
                shapes |= zip(_averages(old), _averages(new), strict=True)
                shapes[(1,)] = (1,)  # the second moment itself
    if shape not in shapes:
        raise CheckpointError(
            f"the parameter {'/'.join(of.path)} has shape {old}, and {new} in --like, and its"
            f" moments cannot change their shape: {reason}. Restore the parameters alone, and start"
            " the optimizer afresh."
        )
    return shapes[shape]


def _has_scale(shape: Shape) -> bool:
    return bool(shape) and math.prod(shape) > shape[-1]


def _of_scale(shape: Shape) -> Shape:
    return (*(1 for _ in shape[:-1]), shape[-1])


def _averages(shape: Shape) -> list[Shape]:
    """The shapes of Adafactor's ``v_row`` and ``v_col``."""
    by_size = np.argsort(shape)
    return [shape[:axis] + shape[axis + 1 :] for axis in (int(by_size[-1]), int(by_size[-2]))]


def _reshaped(leaf: Any, shape: Shape) -> StoredArray:
    """The array in another shape, which still stays in its file until it is read."""
    stored = leaf if isinstance(leaf, StoredArray) else array_in_memory(leaf)
    return StoredArray(shape, stored.dtype, lambda: stored.read().reshape(shape))
