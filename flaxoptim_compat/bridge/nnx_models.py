"""The parameters of a model of Flax NNX, paired with those of a legacy target.

A NNX model is no tree of arrays, but keeps each parameter in a ``nnx.Variable``. What optax sees of
it is a ``nnx.State``: nested mappings by the names of attributes, and the numbers in lists.
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

# A message names no more than these; a model may have thousands.
_MOST_ROWS = 12


class Parameters:
    """The parameters of a model that are trained.

    Args:
      model: a ``nnx.Module``, perhaps an abstract one of ``nnx.eval_shape``.
      wrt: which of its variables, as ``nnx.Optimizer`` is given it.
    """

    def __init__(self, model: Any, wrt: Any) -> None:
        self._model = model
        state = nnx.state(model, wrt)
        flat: tuple[list[Any], PyTreeDef] = tree_flatten_with_path(state, is_leaf=_is_variable)
        found, self.treedef = flat
        self.paths = [slashed(path) for path, _ in found]
        self._variables = [variable for _, variable in found]
        self.values = [value_of(variable) for variable in self._variables]

    def pair(self, target: PyTree, paths: Paths | None) -> Pairing:
        """Find the leaf of a target for each parameter.

        Raises:
          ValueError: some have no counterpart, or one of another shape or dtype.
        """
        found, treedef = tree_flatten_with_path(target)
        old = [slashed(path) for path, _ in found]
        new = renamed(old, paths)
        leaves = [leaf for _, leaf in found]
        number_of = {path: number for number, path in enumerate(new)}
        in_model = {*self.paths}
        without = [number for path, number in number_of.items() if path not in in_model]
        missing = [place for place, path in enumerate(self.paths) if path not in number_of]
        if without or missing:
            ours = [
                f"{_called(old[number], new[number])}  {_described(leaves[number])}"
                for number in without
            ]
            theirs = [f"{self.paths[place]}  {_described(self.values[place])}" for place in missing]
            raise ValueError(
                "The parameters of the target and those of the model do not have the same paths.\n"
                f"Of the target, without one in the model:\n{_listed(ours)}\n"
                f"Of the model, without one in the target:\n{_listed(theirs)}\n"
                "Say what is called otherwise, whole modules or single parameters, such as"
                ' paths={"Dense_0": "linear1", "LayerNorm_0/scale": "norm/scale"}.'
                " Which variables of the model are trained is decided by wrt."
            )
        pairing = Pairing(treedef, self.treedef, tuple(number_of[path] for path in self.paths))
        self._refuse_others(pairing, old, leaves)
        return pairing

    def set(self, values: PyTree) -> None:
        """Put other values, in the structure of the model, into its variables."""
        nnx.update(self._model, values)

    def as_variables(self, opt_state: PyTree) -> PyTree:
        """The same optax state, whose moments have the metadata of their parameters.

        ``nnx.Optimizer`` asks for it: what is a variable in the state of a transformation stays one
        with its metadata, such as the names of the axes. A moment of another shape has other axes.
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

    def _refuse_others(self, pairing: Pairing, old: Sequence[str], leaves: Sequence[Leaf]) -> None:
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
                "Make the model with the sizes of the old one, and with its param_dtype."
            )


def value_of(variable: Any) -> Leaf:
    """The value of a variable; the name for it has changed from release to release of Flax."""
    (value,) = jax.tree.leaves(variable)
    return value


def values_of(tree: PyTree) -> PyTree:
    """The same tree with the values of its variables in their place."""
    return jax.tree.map(
        lambda node: value_of(node) if _is_variable(node) else node, tree, is_leaf=_is_variable
    )


def _is_variable(node: PyTree) -> bool:
    return isinstance(node, nnx.Variable)


def _shape_and_dtype(leaf: Leaf) -> tuple[Any, Any]:
    # Of a numpy array, the dtype that it has, and not that which jax would make of it.
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
