"""T5X's training state around an optimizer of this package.

The classes have the fields, methods, exceptions and state dicts of ``t5x.train_state``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import core, struct
from flax.core import FrozenDict
from flax.linen.partitioning import get_axis_names
from flax.traverse_util import flatten_dict
from jax.sharding import PartitionSpec
from jax.tree_util import PyTreeDef

# Flax depends on typing_extensions too. With Python 3.11's own Protocol, isinstance would evaluate
# the properties of an instance, and an InferenceState refuses one of them.
from typing_extensions import Protocol, runtime_checkable

from flaxoptim_compat.bridge.definition import Leaf, Number, ParamState, PyTree
from flaxoptim_compat.bridge.trees import leaves_like

if TYPE_CHECKING:
    from typing import Self

    from flaxoptim_compat.optim.base import Optimizer, OptimizerDef, OptimizerState

    AnyDefinition = TypeVar("AnyDefinition", bound=OptimizerDef)

__all__ = [
    "EMPTY_DICT",
    "FlaxOptimTrainState",
    "InferenceState",
    "TrainState",
    "with_logical_axes",
]

EMPTY_DICT: FrozenDict[str, Any] = core.freeze({})

_AXES = "_axes"


@runtime_checkable
class TrainState(Protocol):
    """Everything that a training loop of T5X does with its state."""

    @property
    def step(self) -> Leaf:
        """The number of steps done."""

    @property
    def params(self) -> PyTree:
        """The parameters."""

    @property
    def param_states(self) -> PyTree:
        """The state that the optimizer keeps for each parameter."""

    @property
    def flax_mutables(self) -> PyTree:
        """The collections of the model that are no parameters."""

    def state_dict(self) -> PyTree:
        """Everything as nested dicts of arrays, the form that checkpoints hold."""

    def restore_state(self, state_dict: Mapping[str, PyTree]) -> TrainState:
        """A copy with the values of a state dict."""

    def replace_params(self, params: PyTree) -> TrainState:
        """A copy with other parameters."""

    def replace_flax_mutables(self, flax_mutables: PyTree) -> TrainState:
        """A copy with other mutable collections."""

    def replace_step(self, step: Leaf) -> TrainState:
        """A copy at another step."""

    def apply_gradient(
        self, grads: PyTree, learning_rate: Number, flax_mutables: PyTree = EMPTY_DICT
    ) -> TrainState:
        """Do one step."""

    def as_logical_axes(self) -> TrainState:
        """A copy with axis names in place of arrays."""


class FlaxOptimTrainState(struct.PyTreeNode):
    """Parameters, their optimizer and the other collections of a model, as one immutable pytree.

    Args:
      _optimizer: the optimizer; its target are the parameters.
      params_axes: the axes of the parameters, as the model gave them, or None.
      flax_mutables: the other collections.
      flax_mutables_axes: the axes of the other collections, if a collection has axes, or None.
    """

    _optimizer: Optimizer
    params_axes: PyTree = None
    flax_mutables: PyTree = EMPTY_DICT
    flax_mutables_axes: PyTree = None

    @classmethod
    def create(cls, optimizer_def: OptimizerDef, model_variables: PyTree) -> Self:
        """The state before the first step.

        Args:
          optimizer_def: a definition. One with a method ``set_param_axes`` is told the axis names
            of the parameters first, and must not be shared with another model.
          model_variables: the result of the model's initialization: ``params``, perhaps
            ``params_axes``, and other collections, each perhaps with its own axes.

        Raises:
          KeyError: there are no parameters, or there are axes of a missing collection.
          ValueError: a variable has no axes, although others of its collection do; or the
            definition needs axes, and there are none.
        """
        params, params_axes, *mutables_and_axes = _parts(model_variables)
        if hasattr(optimizer_def, "set_param_axes"):
            if params_axes is None:
                raise ValueError(
                    "The optimizer supports params_axes for model-based partitioning, but the"
                    " model is not emitting them."
                )
            optimizer_def.set_param_axes(get_axis_names(params_axes))
        return cls(optimizer_def.create(params), params_axes, *mutables_and_axes)

    @property
    def step(self) -> Leaf:
        """The number of steps done."""
        return self._optimizer.state.step

    @property
    def params(self) -> PyTree:
        """The parameters."""
        return self._optimizer.target

    @property
    def param_states(self) -> PyTree:
        """The state that the optimizer keeps for each parameter."""
        return self._optimizer.state.param_states

    def state_dict(self) -> dict[str, PyTree]:
        """The entries ``target``, ``state`` and, if there are any, ``flax_mutables``."""
        entries: dict[str, Any] = self._optimizer.state_dict()
        return {**entries, **_unfrozen_entry(self.flax_mutables)}

    def restore_state(self, state_dict: Mapping[str, PyTree]) -> Self:
        """A copy with the values of a state dict, of T5X or of this package, of any layout.

        Raises:
          ValueError: an entry is missing, or flax refuses one that is not expected; the message
            names it.
        """
        return self.replace(
            _optimizer=self._optimizer.restore_state(state_dict),
            flax_mutables=_frozen_entry(state_dict),
        )

    def apply_gradient(
        self, grads: PyTree, learning_rate: Number, flax_mutables: PyTree = EMPTY_DICT
    ) -> Self:
        """Do one step.

        Args:
          grads: a tree like the parameters.
          learning_rate: the learning rate of this step.
          flax_mutables: the collections after the step. The old collections are not kept.
        """
        optimizer = self._optimizer.apply_gradient(grads, learning_rate=learning_rate)
        return self.replace(_optimizer=optimizer, flax_mutables=flax_mutables)

    def replace_params(self, params: PyTree) -> Self:
        """A copy with other parameters."""
        return self.replace(_optimizer=self._optimizer.replace(target=params))

    def replace_flax_mutables(self, flax_mutables: PyTree) -> Self:
        """A copy with other mutable collections."""
        return self.replace(flax_mutables=flax_mutables)

    def replace_step(self, step: Leaf) -> Self:
        """A copy at another step."""
        state_dict = self.state_dict()
        state_dict["state"]["step"] = step
        return self.restore_state(state_dict)

    def as_logical_axes(self) -> Self:
        """A copy with a PartitionSpec of axis names, or None, in place of every array.

        Raises:
          ValueError: the definition does not know the axes of its state. ``with_logical_axes``
            makes a definition that does.
        """
        definition = self._optimizer.optimizer_def
        if not hasattr(definition, "derive_logical_axes"):
            raise ValueError(
                f"Optimizer '{type(definition).__name__}' requires a `derive_logical_axes` method"
                " to be used with named axis partitioning."
            )
        return type(self)(
            definition.derive_logical_axes(self._optimizer, get_axis_names(self.params_axes)),
            flax_mutables=get_axis_names(self.flax_mutables_axes or EMPTY_DICT),
            flax_mutables_axes=self.flax_mutables_axes,
        )


class InferenceState(struct.PyTreeNode):
    """Parameters and the other collections of a model, restored from a training state's dict.

    Args:
      step: the number of steps done.
      params: the parameters.
      params_axes: the axes of the parameters, as the model gave them, or None.
      flax_mutables: the other collections.
      flax_mutables_axes: the axes of the other collections, if a collection has axes, or None.
    """

    step: Leaf
    params: PyTree
    params_axes: PyTree = None
    flax_mutables: PyTree = EMPTY_DICT
    flax_mutables_axes: PyTree = None

    @classmethod
    def create(cls, model_variables: PyTree) -> Self:
        """The state at step 0.

        Args:
          model_variables: the result of the model's initialization.

        Raises:
          KeyError: there are no parameters, or there are axes of a missing collection.
          ValueError: a variable has no axes, although others of its collection do.
        """
        return cls(jnp.array(0), *_parts(model_variables))

    @property
    def param_states(self) -> NoReturn:
        """Refuse: an InferenceState has no states of an optimizer.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError("InferenceState has no optimizer states.")

    def apply_gradient(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: an InferenceState has no optimizer to do a step.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError("InferenceState does not support `apply_gradient`.")

    def state_dict(self) -> dict[str, PyTree]:
        """The entries ``target``, ``state`` and, if there are any, ``flax_mutables``."""
        return {
            "target": core.unfreeze(self.params),
            "state": {"step": self.step},
            **_unfrozen_entry(self.flax_mutables),
        }

    def restore_state(self, state_dict: Mapping[str, PyTree]) -> Self:
        """A copy with the values of a state dict; states of an optimizer in it are ignored."""
        return self.replace(
            params=core.freeze(state_dict["target"]),
            step=state_dict["state"]["step"],
            flax_mutables=_frozen_entry(state_dict),
        )

    def replace_params(self, params: PyTree) -> Self:
        """A copy with other parameters."""
        return self.replace(params=params)

    def replace_flax_mutables(self, flax_mutables: PyTree) -> Self:
        """A copy with other mutable collections."""
        return self.replace(flax_mutables=flax_mutables)

    def replace_step(self, step: Leaf) -> Self:
        """A copy at another step."""
        return self.replace(step=step)

    def as_logical_axes(self) -> Self:
        """A copy with a PartitionSpec of axis names in place of every array, and no step."""
        return type(self)(
            step=None,
            params=get_axis_names(self.params_axes),
            flax_mutables=get_axis_names(self.flax_mutables_axes or EMPTY_DICT),
        )


def with_logical_axes(definition: AnyDefinition) -> AnyDefinition:
    """A copy of a definition with the method ``derive_logical_axes``, which T5X calls.

    The class of the copy is a subclass of the same name. The copy does the same as the definition
    in every other way.

    Args:
      definition: any definition; a definition with the method is returned unchanged.

    Raises:
      TypeError: the argument is no definition.
    """
    if hasattr(definition, "derive_logical_axes"):
        return definition
    if not hasattr(type(definition), "state_axes"):
        raise TypeError(
            "`with_logical_axes` takes a definition, such as `optim.Adam(learning_rate=0.1)` or"
            f" `optimizer.optimizer_def`, not {definition!r:.80}."
        )
    copied: Any = definition.with_snapshot(definition.snapshot())
    copied.__class__ = _with_the_method(copied.__class__)
    return copied  # type: ignore[no-any-return]


# Cached: definitions of different classes are never equal, and jit would trace a new class again.
@functools.cache
def _with_the_method(cls: type) -> type:
    return type(cls.__name__, (_LogicalAxes, cls), {"__doc__": cls.__doc__})


class _LogicalAxes:
    """The method ``derive_logical_axes``, to be mixed into the class of a definition."""

    def derive_logical_axes(self, optimizer: Optimizer, param_logical_axes: PyTree) -> Optimizer:
        """The optimizer with the axes of each array in its place, and None for the step.

        Args:
          optimizer: an optimizer with this definition. Only the shapes of its arrays count. The
            target may have axes in place of the parameters.
          param_logical_axes: a PartitionSpec of axis names, or None, for each parameter.
        """
        definition: Any = self
        target, state = optimizer.target, optimizer.state
        treedef: PyTreeDef = jax.tree.structure(target)
        axes = treedef.unflatten(leaves_like(target, param_logical_axes, "param_logical_axes"))
        if any(isinstance(leaf, PartitionSpec) for leaf in jax.tree.leaves(target)):
            state_axes = definition.state_axes(*_without_parameters(axes, state))
        else:
            state_axes = definition.state_axes(target, state, axes)
        return optimizer.replace(state=state_axes.replace(step=None), target=axes)


def _without_parameters(
    axes: PyTree, state: OptimizerState
) -> tuple[PyTree, OptimizerState, PyTree]:
    """The arguments of ``state_axes`` for an optimizer with axes in place of its parameters.

    T5X's MultiOptimizer makes such optimizers. The shape of a parameter is taken from a moment with
    as many dimensions as there are axes. Without such a moment, the axes of the state are unknown,
    and the state has none, like that of a scalar.
    """
    treedef: PyTreeDef = jax.tree.structure(axes)
    specs = jax.tree.leaves(axes)
    states = leaves_like(axes, state.param_states, "param_states")
    shapes = [_full_shape(each, len(spec)) for each, spec in zip(states, specs, strict=True)]
    params = [jax.ShapeDtypeStruct(shape or (), jnp.float32) for shape in shapes]
    known = [spec if shape else None for spec, shape in zip(specs, shapes, strict=True)]
    return treedef.unflatten(params), state, treedef.unflatten(known)


def _full_shape(state: ParamState, rank: int) -> tuple[int, ...] | None:
    shapes = [np.shape(array) for array in jax.tree.leaves(state)]
    # A sum over a dimension leaves size 1; another array has the full size.
    sizes = zip(*[shape for shape in shapes if len(shape) == rank], strict=True)
    return tuple(max(dimension) for dimension in sizes) or None


def _parts(model_variables: PyTree) -> tuple[PyTree, PyTree, PyTree, PyTree]:
    """The parameters, their axes, the other collections and their axes; None for no axes.

    The axes of a collection are in another collection, whose name ends in ``_axes``. A collection
    with axes must have axes for all its variables.
    """
    collections, params = core.pop(model_variables, "params")
    params_axes = None
    if "params_axes" in collections:
        collections, params_axes = core.pop(collections, "params_axes")
        _expect_axes(params, params_axes)
    mutables, axes = {}, {}
    for name, collection in collections.items():
        if name.endswith(_AXES):
            owner = name.removesuffix(_AXES)
            axes[owner] = collection
            _expect_axes(collections[owner], collection)
        else:
            mutables[name] = collection
    return params, params_axes, core.freeze(mutables), core.freeze(axes) or None


def _expect_axes(variables: PyTree, axes: PyTree) -> None:
    named = flatten_dict(get_axis_names(axes), sep="/")
    missing = set(flatten_dict(variables, sep="/")) - set(named)
    if missing:
        raise ValueError(f"Missing axis names for parameters: {missing}")


def _unfrozen_entry(flax_mutables: PyTree) -> dict[str, PyTree]:
    """The entry of a state dict for the mutable collections; an empty dict without collections."""
    return {"flax_mutables": core.unfreeze(flax_mutables)} if flax_mutables else {}


def _frozen_entry(state_dict: Mapping[str, PyTree]) -> FrozenDict[str, Any]:
    """The mutable collections in a state dict; empty if the dict has none."""
    return core.freeze(state_dict["flax_mutables"]) if "flax_mutables" in state_dict else EMPTY_DICT
