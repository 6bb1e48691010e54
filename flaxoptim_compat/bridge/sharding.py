"""The sharding of every array of an optimizer on a mesh, from the sharding of the parameters."""

from __future__ import annotations

import math
from collections.abc import Container
from functools import partial

import jax
import numpy as np
from flax.training.train_state import TrainState
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jax.tree_util import GetAttrKey, tree_flatten_with_path, tree_map_with_path

from flaxoptim_compat.bridge.definition import Definition, Leaf, ParamState, PyTree
from flaxoptim_compat.bridge.trees import KeyPath, leaves_like

# The functions that programs call. The other ones are for this package.
__all__ = ["fsdp_specs", "shardings", "specs"]


def specs(
    tree: PyTree,
    param_specs: PyTree,
    moment_specs: PyTree = None,
    definition: Definition | None = None,
) -> PyTree:
    """The PartitionSpec of every array of an optimizer, in the structure of the optimizer.

    An array of a parameter's state has axes of the parameter: a moment all of them, a sum over some
    dimensions those of the other dimensions. Counts, hyper-parameters and all other arrays of the
    optimizer have no axes.

    Args:
      tree: an ``Optimizer``, or a ``TrainState`` with any optax state; with arrays, or with the
        shapes that ``jax.eval_shape`` returns.
      param_specs: a PartitionSpec, or None for no axes, for each parameter.
      moment_specs: the same for the state of each parameter, if states are sharded in another way
        than parameters.
      definition: the definition from which a TrainState was converted, ``optimizer_def`` of the
        optimizer. Only its ``param_state_axes`` knows the axes of states with other shapes than
        their parameters. Without the definition, such states are copied to every device.

    Raises:
      TypeError: the tree is no Optimizer and no TrainState, or an entry is no PartitionSpec.
      ValueError: the specifications do not have the structure of the parameters, or one has more
        axes than its parameter.
    """
    legacy = hasattr(tree, "optimizer_def")
    if not legacy and not isinstance(tree, TrainState):
        raise TypeError(f"`specs` takes an Optimizer or a TrainState, not a {type(tree).__name__}.")
    params = tree.target if legacy else tree.params
    of_params = _checked(params, param_specs, "param_specs")
    of_moments = of_params
    if moment_specs is not None:
        of_moments = _checked(params, moment_specs, "moment_specs")
    with_axes: dict[str, PyTree]
    if legacy:
        state = tree.optimizer_def.state_axes(params, tree.state, of_moments)
        with_axes = {"target": of_params, "state": state}
    else:
        specs_of = of_opt_state if definition is None else partial(_of_converted, definition)
        opt_state = specs_of(tree.opt_state, params, of_moments)
        with_axes = {"params": of_params, "opt_state": opt_state}
    everywhere = jax.tree.map(lambda _: PartitionSpec(), tree)
    return jax.tree.map(_shortened, everywhere.replace(**with_axes))


def shardings(
    mesh: Mesh,
    tree: PyTree,
    param_specs: PyTree,
    moment_specs: PyTree = None,
    definition: Definition | None = None,
) -> PyTree:
    """The specs of ``specs`` as NamedShardings, for ``jax.jit``, ``jax.device_put`` and orbax.

    Args:
      mesh: the devices.
      tree: as for ``specs``.
      param_specs: as for ``specs``.
      moment_specs: as for ``specs``.
      definition: as for ``specs``.
    """
    tree_specs = specs(tree, param_specs, moment_specs, definition)
    return jax.tree.map(lambda spec: NamedSharding(mesh, spec), tree_specs)


def fsdp_specs(params: PyTree, mesh: Mesh, axis: str, min_size: int = 1024) -> PyTree:
    """A PartitionSpec for each parameter that spreads the parameter over one axis of the mesh.

    The largest dimension that the axis divides evenly is split. A parameter without such a
    dimension, or with fewer than ``min_size`` numbers, is copied to every device.

    Args:
      params: the parameters, or anything with their shapes.
      mesh: the devices.
      axis: the name of the axis.
      min_size: the least number of elements to split; splitting a smaller parameter saves little
        memory and costs time.

    Raises:
      ValueError: the mesh has no such axis.
    """
    if axis not in mesh.shape:
        raise ValueError(f"The mesh has no axis {axis!r}. Its axes are {', '.join(mesh.shape)}.")
    parts = mesh.shape[axis]

    def spread(param: Leaf) -> PartitionSpec:
        shape = np.shape(param)
        fitting = [at for at, length in enumerate(shape) if length % parts == 0]
        if not fitting or math.prod(shape) < min_size:
            return PartitionSpec()
        split = max(fitting, key=lambda at: shape[at])
        return PartitionSpec(*[None] * split, axis)

    return jax.tree.map(spread, params)


def _padded(axes: PyTree, rank: int) -> tuple[str | tuple[str, ...] | None, ...]:
    """The entries of a PartitionSpec, one for each dimension; missing entries are None.

    Raises:
      ValueError: there are more entries than dimensions.
    """
    entries = tuple(axes or ())
    if len(entries) > rank:
        raise ValueError(
            f"{axes} names {len(entries)} axes, its parameter has {rank}. Give at most one entry"
            " for each dimension of the parameter."
        )
    return (*entries, *[None] * (rank - len(entries)))


def of_state(param: Leaf, state: ParamState, axes: PyTree) -> PyTree:
    """The axes of every array in the state of one parameter, by shape.

    An array with as many dimensions as the parameter has the parameter's axes, except for a
    dimension of another size, as after a sum. Any other array has no axes. The axes are a
    PartitionSpec or None, and only the shape of the parameter counts.
    """
    shape = np.shape(param)

    def of_array(array: Leaf) -> PartitionSpec:
        sizes = np.shape(array)
        if len(sizes) != len(shape):
            return PartitionSpec(*[None] * len(sizes))
        entries = zip(_padded(axes, len(shape)), shape, sizes, strict=True)
        return PartitionSpec(*[axis if size == full else None for axis, full, size in entries])

    return jax.tree.map(of_array, state)


def without(axes: PyTree, rank: int, dimension: int) -> PartitionSpec:
    """The axes of a parameter after a sum over one of its dimensions."""
    entries = _padded(axes, rank)
    return PartitionSpec(*entries[:dimension], *entries[dimension + 1 :])


def _checked(params: PyTree, param_specs: PyTree, what: str) -> PyTree:
    """One PartitionSpec for each parameter, in the structure of the parameters."""
    leaves, treedef = jax.tree.flatten(params)
    param_specs = leaves_like(params, param_specs, what)
    for param, spec in zip(leaves, param_specs, strict=True):
        if not isinstance(spec, PartitionSpec | None):
            raise TypeError(
                f"`{what}` has a {type(spec).__name__} in place of a PartitionSpec or None."
            )
        _padded(spec, len(np.shape(param)))
    return jax.tree.unflatten(treedef, [spec or PartitionSpec() for spec in param_specs])


def _shortened(spec: PartitionSpec) -> PartitionSpec:
    """The PartitionSpec without the Nones at its end, as in the results of jit.

    With these Nones jit would compile a step a second time.
    """
    entries = list(spec)
    while entries and entries[-1] is None:
        entries.pop()
    return PartitionSpec(*entries)


def of_opt_state(opt_state: PyTree, params: PyTree, param_axes: PyTree) -> PyTree:
    """The PartitionSpec of every array in an optax state, by the path of its parameter."""
    specs = leaves_like(params, param_axes, "param_axes")
    entries = zip(tree_flatten_with_path(params)[0], specs, strict=True)
    known = {path: (param, spec) for (path, param), spec in entries}

    def of_array(path: KeyPath, array: Leaf) -> PartitionSpec:
        at = _param_path(path, known)
        if at is None:
            return PartitionSpec()
        param, spec = known[at]
        return _of_factor(path, array, param, spec) or of_state(param, array, spec)

    return tree_map_with_path(of_array, opt_state)


def _of_converted(
    definition: Definition, opt_state: PyTree, params: PyTree, param_specs: PyTree
) -> PyTree:
    """The PartitionSpec of every array in the optax state that a definition was converted to."""
    opt_state_specs = None

    def trace(params: PyTree, opt_state: PyTree) -> None:
        nonlocal opt_state_specs
        state = definition.from_opt_state(params, 0, opt_state)
        axes = definition.state_axes(params, state, param_specs)
        arrays, array_specs = (jax.tree.leaves(each.param_states) for each in (state, axes))
        # The conversion back keeps the very arrays, so each one is recognised by its identity.
        known = dict(zip(map(id, arrays), array_specs, strict=True))
        opt_state_specs = jax.tree.map(
            lambda array: known.get(id(array), PartitionSpec()), opt_state
        )

    jax.eval_shape(trace, params, opt_state)
    return opt_state_specs


def _param_path(path: KeyPath, known: Container[KeyPath]) -> KeyPath | None:
    """The path of a parameter inside the path of an array: the last one; None without any."""
    for end in range(len(path), -1, -1):
        for start in range(end + 1):
            if path[start:end] in known:
                return path[start:end]
    return None


def _of_factor(path: KeyPath, array: Leaf, param: Leaf, spec: PyTree) -> PartitionSpec | None:
    """The PartitionSpec of Adafactor's mean over one of the two largest dimensions, or None."""
    shape = np.shape(param)
    means_over = {GetAttrKey("v_row"): -1, GetAttrKey("v_col"): -2}
    for key in path:
        if key in means_over and len(shape) > 1:
            over = int(np.argsort(shape)[means_over[key]])
            if np.shape(array) == (*shape[:over], *shape[over + 1 :]):
                return without(spec, len(shape), over)
    return None
