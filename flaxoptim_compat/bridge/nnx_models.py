"""The parameters of a model of Flax NNX, paired with those of a legacy target.

A NNX model is no tree of arrays: it keeps each parameter in a ``nnx.Variable``. Optax sees a
``nnx.State`` of the model: nested mappings whose keys are names of attributes and numbers in lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.tree_util import PyTreeDef, tree_flatten_with_path

from flaxoptim_compat.bridge.definition import Leaf, PyTree
from flaxoptim_compat.bridge.pairing import Pairing, Paths, renamed
from flaxoptim_compat.versions.of_jax import slashed

# A message names at most this many parameters; a model may have thousands.
_MOST_ROWS = 12


class Parameters:
    """The parameters of a model that are trained.

    Args:
      model: a ``nnx.Module``, perhaps an abstract one of ``nnx.eval_shape``.
      wrt: selects the variables that are trained, as in ``nnx.Optimizer``.
    """

    def __init__(self, model: Any, wrt: Any) -> None:
        self._model = model
        state = nnx.state(model, wrt)
        flat: tuple[list[Any], PyTreeDef] = tree_flatten_with_path(state, is_leaf=_is_variable)
        variables, self.treedef = flat
        self.paths = [slashed(path) for path, _ in variables]
        self._variables = [variable for _, variable in variables]
        self.values = [value_of(variable) for variable in self._variables]

    def pair(self, target: PyTree, paths: Paths | None) -> Pairing:
        """Find the leaf of a target for each parameter.

        Raises:
          ValueError: a parameter has no counterpart, or one of another shape or dtype.
        """
        paths_and_leaves, treedef = tree_flatten_with_path(target)
        old = [slashed(path) for path, _ in paths_and_leaves]
        new = renamed(old, paths)
        leaves = [leaf for _, leaf in paths_and_leaves]
        number_of = {path: number for number, path in enumerate(new)}
        in_model = {*self.paths}
        without = [number for path, number in number_of.items() if path not in in_model]
        missing = [place for place, path in enumerate(self.paths) if path not in number_of]
        if without or missing:
            in_target = [
                f"{_called(old[number], new[number])}  {_described(leaves[number])}"
                for number in without
            ]
            in_the_model = [
                f"{self.paths[place]}  {_described(self.values[place])}" for place in missing
            ]
            raise ValueError(
                "The parameters of the target and those of the model do not have the same paths.\n"
                f"Parameters of the target that the model does not have:\n{_listed(in_target)}\n"
                f"Parameters of the model that the target does not have:\n{_listed(in_the_model)}\n"
                "Give the other names of modules or single parameters in `paths`, such as"
                ' `paths={"Dense_0": "linear1", "LayerNorm_0/scale": "norm/scale"}`.'
                " The argument `wrt` selects the variables of the model that are trained."
            )
        pairing = Pairing(treedef, self.treedef, tuple(number_of[path] for path in self.paths))
        self._refuse_other_shapes(pairing, old, leaves)
        return pairing

    def set(self, values: PyTree) -> None:
        """Set the variables of the model to values in the structure of the model."""
        nnx.update(self._model, values)

    def as_variables(self, opt_state: PyTree) -> PyTree:
        """The optax state with its moments in variables, which have the parameters' metadata.

        ``nnx.Optimizer`` keeps variables in the state of a transformation, with metadata such as
        the names of axes. A moment of another shape stays an array, because it has other axes.
        """

        def variable(like: Any, value: Leaf, moment: PyTree) -> PyTree:
            same = isinstance(moment, jax.Array) and np.shape(moment) == np.shape(value)
            return like.replace(moment) if same else moment

        def of_node(node: PyTree) -> PyTree:
            if not isinstance(node, nnx.State):
                return node
            moments = self.treedef.flatten_up_to(node)
            return self.treedef.unflatten(
                list(map(variable, self._variables, self.values, moments))
            )

        return jax.tree.map(of_node, opt_state, is_leaf=lambda node: isinstance(node, nnx.State))

    def _refuse_other_shapes(
        self, pairing: Pairing, old: Sequence[str], leaves: Sequence[Leaf]
    ) -> None:
        different = [
            f"{_called(old[leaf], path)}  {_described(leaves[leaf])}, in the model"
            f" {_described(value)}"
            for path, value, leaf in zip(self.paths, self.values, pairing.leaves, strict=True)
            if _shape_and_dtype(leaves[leaf]) != _shape_and_dtype(value)
        ]
        if different:
            raise ValueError(
                "Parameters of the target have other shapes or dtypes than those of the model:\n"
                f"{_listed(different)}\n"
                "Make the model with the sizes and the `param_dtype` of the old model."
            )


def value_of(variable: Any) -> Leaf:
    """The value of a variable, whose attribute for it differs between Flax releases."""
    (value,) = jax.tree.leaves(variable)
    return value


def values_of(tree: PyTree) -> PyTree:
    """The tree with values in place of variables."""
    return jax.tree.map(
        lambda node: value_of(node) if _is_variable(node) else node, tree, is_leaf=_is_variable
    )


def _is_variable(node: PyTree) -> bool:
    return isinstance(node, nnx.Variable)


def _shape_and_dtype(leaf: Leaf) -> tuple[Any, Any]:
    # A numpy array keeps its own dtype here, which jax might narrow.
    return np.shape(leaf), np.dtype(getattr(leaf, "dtype", None) or jnp.result_type(leaf))


def _called(old: str, new: str) -> str:
    old = old or "the root"
    return old if old == new else f"{old}, as {new},"


def _described(leaf: Leaf) -> str:
    shape, dtype = _shape_and_dtype(leaf)
    return f"{dtype}{list(shape)}"


def _listed(rows: Sequence[str]) -> str:
    shown = [f"  {row}" for row in rows[:_MOST_ROWS]] or ["  none"]
    more = len(rows) - _MOST_ROWS
    return "\n".join([*shown, *([f"  and {more} more"] if more > 0 else [])])
