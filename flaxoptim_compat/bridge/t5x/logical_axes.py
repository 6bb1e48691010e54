"""The axes of an optimizer's state by name, the way T5X asks a definition for them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from flaxoptim_compat.bridge.trees import leaves_like

if TYPE_CHECKING:
    from flaxoptim_compat.optim.base import OptimizerDef

    Definition = TypeVar("Definition", bound=OptimizerDef)


def with_logical_axes(definition: Definition) -> Definition:
    """A copy of a definition that T5X can ask for the axes of its state.

    It is of a subclass with the method ``derive_logical_axes`` and of the same name, and does in
    everything else what the definition does.

    Args:
      definition: any definition; one that has the method already is returned as it is.

    Raises:
      TypeError: it is no definition.
    """
    if hasattr(definition, "derive_logical_axes"):
        return definition
    if not hasattr(type(definition), "state_axes"):
        raise TypeError(
            "with_logical_axes takes a definition, such as optim.Adam(learning_rate=0.1) or the"
            f" optimizer_def of an optimizer, not {definition!r:.80}."
        )
    copied: Any = definition.with_settings(definition.settings())
    copied.__class__ = _with_the_method(copied.__class__)
    return copied  # type: ignore[no-any-return]


# One class for each: definitions of different types are never equal, and jit would retrace.
@functools.cache
def _with_the_method(cls: type) -> type:
    return type(cls.__name__, (_LogicalAxes, cls), {"__doc__": cls.__doc__})


class _LogicalAxes:
    """The method itself, for a class that is a definition as well."""

    def derive_logical_axes(self, optimizer: Any, param_logical_axes: Any) -> Any:
        """The optimizer with the axes of each array in its place, and None for the step.

        Args:
          optimizer: an optimizer with this definition; of its arrays only the shapes matter. In
            place of the parameters it may have their axes already.
          param_logical_axes: a PartitionSpec of axis names, or None, for each parameter.
        """
        definition: Any = self
        target, state = optimizer.target, optimizer.state
        treedef: Any = jax.tree.structure(target)
        axes = treedef.unflatten(leaves_like(target, param_logical_axes, "param_logical_axes"))
        if any(isinstance(leaf, PartitionSpec) for leaf in jax.tree.leaves(target)):
            found = definition.state_axes(*_without_parameters(axes, state))
        else:
            found = definition.state_axes(target, state, axes)
        return optimizer.replace(state=found.replace(step=None), target=axes)


def _without_parameters(axes: Any, state: Any) -> tuple[Any, Any, Any]:
    """The arguments of ``state_axes`` where T5X's MultiOptimizer gave no parameters.

    The shape of a parameter is then that of a moment with as many dimensions as there are axes. If
    there is no such moment, it is unknown which of the axes the state has: as a scalar's, none.
    """
    treedef: Any = jax.tree.structure(axes)
    specs = jax.tree.leaves(axes)
    states = leaves_like(axes, state.param_states, "param_states")
    shapes = [_full_shape(each, len(spec)) for each, spec in zip(states, specs, strict=True)]
    params = [jax.ShapeDtypeStruct(shape or (), jnp.float32) for shape in shapes]
    known = [spec if shape else None for spec, shape in zip(specs, shapes, strict=True)]
    return treedef.unflatten(params), state, treedef.unflatten(known)


def _full_shape(state: Any, rank: int) -> tuple[int, ...] | None:
    shapes = [np.shape(array) for array in jax.tree.leaves(state)]
    # Where an array is a sum over a dimension, 1 is left of it; others have its full size.
    sizes = zip(*[shape for shape in shapes if len(shape) == rank], strict=True)
    return tuple(max(dimension) for dimension in sizes) or None
