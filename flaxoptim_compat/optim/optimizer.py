"""A target together with the definition and the state that optimize it."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import jax
import numpy as np
from flax import jax_utils, serialization, struct
from flax.training.train_state import TrainState
from jax.tree_util import GetAttrKey

from flaxoptim_compat.bridge import checkpoints
from flaxoptim_compat.bridge.definition import HyperParams, PyTree
from flaxoptim_compat.bridge.train_state import to_train_state
from flaxoptim_compat.bridge.trees import step_count, unshared
from flaxoptim_compat.optim.by_value import StaticDefinition
from flaxoptim_compat.optim.state import OptimizerState

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import TypeVar as TypeVarWithDefault

    from flaxoptim_compat.optim.base import OptimizerDef

    # The type of the parameters; Any for a program that writes Optimizer without a type argument.
    Params = TypeVarWithDefault("Params", default=Any)
else:
    Params = TypeVar("Params")


def _register(cls: type[Optimizer]) -> None:
    """Make a class a frozen dataclass, a pytree node and a serializable type, as flax.struct does.

    flax.struct itself would put the definition into the tree, not a snapshot of the definition.
    """
    dataclasses.dataclass(frozen=True, repr=False)(cls)
    data: list[str] = []
    static: list[str] = []
    for field in dataclasses.fields(cls)[1:]:
        (data if field.metadata.get("pytree_node", True) else static).append(field.name)
    # Each call of a jitted step flattens optimizers and makes them anew. An attrgetter runs in C.
    children_of = operator.attrgetter(*data)

    def flatten(optimizer: Optimizer) -> tuple[tuple[PyTree, ...], tuple[Any, ...]]:
        settings = map(functools.partial(getattr, optimizer), static)
        return children_of(optimizer), (StaticDefinition(optimizer.optimizer_def), *settings)

    def unflatten(aux: tuple[Any, ...], children: Iterable[PyTree]) -> Optimizer:
        definition, *settings = aux
        if not settings:
            return cls(definition.restored(), *children)
        values = dict(zip([*static, *data], [*settings, *children], strict=True))
        return cls(definition.restored(), **values)

    def flatten_with_keys(
        optimizer: Optimizer,
    ) -> tuple[tuple[tuple[Any, PyTree], ...], tuple[Any, ...]]:
        children, aux = flatten(optimizer)
        return tuple(zip(map(GetAttrKey, data), children, strict=True)), aux

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    own = [name for name in data if name not in ("state", "target")]

    def to_state(optimizer: Optimizer) -> PyTree:
        # By the definition, because a replicated optimizer stores only one copy.
        more = {name: serialization.to_state_dict(getattr(optimizer, name)) for name in own}
        return {**optimizer.state_dict(), **more} if own else optimizer.state_dict()

    def from_state(optimizer: Optimizer, state: PyTree) -> Optimizer:
        if not own:
            return optimizer.restore_state(state)
        entries = checkpoints.expect_entries(state, ("target", "state", *own))
        more = {
            name: serialization.from_state_dict(getattr(optimizer, name), entries[name], name)
            for name in own
        }
        return optimizer.restore_state(entries).replace(**more)

    serialization.register_serialization_state(cls, to_state, from_state)


def shown_step(step: Any) -> str:
    """A step in words, also one that is no number."""
    if isinstance(step, int | np.integer):
        return str(step)
    is_here = isinstance(step, np.ndarray) or (
        isinstance(step, jax.Array)
        and not isinstance(step, jax.core.Tracer)
        and not step.is_deleted()
        and step.is_fully_addressable
    )
    return np.array2string(np.asarray(step), separator=", ") if is_here else shown_tree(step)


def shown_tree(tree: PyTree) -> str:
    """A tree in words, without its arrays."""
    leaves = jax.tree.leaves(tree)
    numbers = sum(math.prod(getattr(leaf, "shape", ())) for leaf in leaves)
    noun = "leaf" if len(leaves) == 1 else "leaves"
    return f"<{len(leaves):,} {noun}, {numbers:,} number{'' if numbers == 1 else 's'}>"


class _NoAux:
    """Stands for the absence of auxiliary outputs."""


class Optimizer(struct.PyTreeNode, Generic[Params]):
    """A target that is being optimized, with its state, as one immutable pytree.

    The leaves are ``state.step``, ``state.param_states`` and ``target``; the definition is static.

    Args:
      optimizer_def: the definition, which says what a step does.
      state: an ``OptimizerState``.
      target: the parameters.
    """

    # Tells struct.PyTreeNode that this class is registered already: see ``_register``.
    _flax_dataclass: ClassVar[bool] = True

    optimizer_def: OptimizerDef = struct.field(pytree_node=False)
    state: OptimizerState = struct.field(pytree_node=True)
    target: Params = struct.field(pytree_node=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        cls._flax_dataclass = True
        parent: Any = super()
        parent.__init_subclass__(**kwargs)
        # A DualTrainState has the fields of a TrainState, and registers itself.
        if not issubclass(cls, TrainState):
            _register(cls)

    if TYPE_CHECKING:

        def __init__(
            self, optimizer_def: OptimizerDef, state: OptimizerState, target: Params
        ) -> None: ...

    def __repr__(self) -> str:
        # Without arrays: a thousand arrays would flood a prompt, a log or a debugger.
        shown = [f"step={shown_step(getattr(self.state, 'step', None))}"]
        for field in dataclasses.fields(self)[3:]:
            value = getattr(self, field.name)
            is_tree = field.metadata.get("pytree_node", True)
            shown.append(f"{field.name}={shown_tree(value) if is_tree else repr(value)}")
        shown.append(f"target={shown_tree(self.target)}")
        return f"{type(self).__name__}({self.optimizer_def!r}, {', '.join(shown)})"

    def replace(self, **updates: PyTree) -> Self:
        """A copy with some of its fields replaced."""
        return dataclasses.replace(self, **updates)

    def apply_gradient(self, grads: PyTree, **hyper_param_overrides: Any) -> Self:
        """Do one step.

        Args:
          grads: a tree like the target.
          **hyper_param_overrides: hyper-parameters of this step only, by name, Python numbers or
            traced; ``hyper_params=`` replaces all of them. With ``from_optax`` also the extra
            arguments of its transformation, such as ``value=loss``.

        Raises:
          AssertionError: there is no learning rate.
          TypeError: an override is not known.
          ValueError: the gradients do not fit the target.
        """
        hyper_params = self.optimizer_def.update_hyper_params(**hyper_param_overrides)
        target, state = self.optimizer_def.apply_gradient(
            hyper_params, self.target, self.state, grads
        )
        return self.replace(target=target, state=state)

    def compute_gradient(self, loss_fn: Callable[[Params], Any]) -> tuple[Any, ...]:
        """Loss and gradient of a function of the target; ``jax.value_and_grad`` does the same.

        Args:
          loss_fn: returns the loss, or the loss and auxiliary outputs.

        Returns:
          ``(loss, gradient)``, or ``(loss, aux, gradient)`` if there are auxiliary outputs.
        """
        has_aux = True

        def with_aux(target: Params) -> tuple[Any, Any]:
            nonlocal has_aux
            out = loss_fn(target)
            if isinstance(out, jax.Array):
                has_aux = False
                return out, None
            loss, aux = out
            return loss, aux

        (loss, aux), grad = jax.value_and_grad(with_aux, has_aux=True)(self.target)
        return (loss, aux, grad) if has_aux else (loss, grad)

    compute_gradients = compute_gradient

    def optimize(
        self, loss_fn: Callable[[Params], Any], **hyper_param_overrides: Any
    ) -> tuple[Any, ...]:
        """Compute a gradient and apply it.

        Args:
          loss_fn: returns the loss, or the loss and auxiliary outputs.
          **hyper_param_overrides: as for ``apply_gradient``.

        Returns:
          ``(optimizer, loss)``, or ``(optimizer, loss, aux)``.
        """
        *outputs, grad = self.compute_gradient(loss_fn)
        return (self.apply_gradient(grad, **hyper_param_overrides), *outputs)

    def replicate(
        self, devices: Sequence[jax.Device] | None = None, axis_name: str = "batch"
    ) -> Self:
        """A copy on every device, for ``jax.pmap``, that averages its gradients over the devices.

        Args:
          devices: where to put the copies; all local devices if None.
          axis_name: the axis of the ``pmap``.
        """
        single = self.optimizer_def
        definition = single.replicated_optimizer(single, devices, axis_name)
        replicated: Self = jax_utils.replicate(self, devices=definition.devices)
        return replicated.replace(optimizer_def=definition)

    def unreplicate(self) -> Self:
        """The first copy of a replicated optimizer.

        Raises:
          ValueError: the optimizer is not replicated by ``replicate``.
        """
        definition = self.optimizer_def.unreplicated()
        single: Self = jax_utils.unreplicate(self)
        return single.replace(optimizer_def=definition)

    def state_dict(self) -> PyTree:
        """Target and state as nested dicts of arrays, the form that checkpoints hold."""
        return self.optimizer_def.state_dict(self.target, self.state)

    def restore_state(self, state: PyTree) -> Self:
        """A copy with the values of a state dict, written by this package or by any Flax.

        Raises:
          ValueError: an entry is missing, or flax refuses one that is not expected; the message
            names it.
        """
        target, new_state = self.optimizer_def.restore_state(self.target, self.state, state)
        return self.replace(target=target, state=new_state)

    def to_train_state(
        self,
        apply_fn: Callable[..., Any] | None = None,
        inject: bool = True,
        **hyper_param_overrides: Any,
    ) -> TrainState:
        """The flax TrainState that continues exactly from this step, with an optax transformation.

        Args:
          apply_fn: kept in the TrainState, usually ``model.apply``.
          inject: whether the learning rate is in the optax state, where it can be set. False builds
            hyper-parameters in: a checkpoint then holds none of them, as with ``flax.optim``.
          **hyper_param_overrides: hyper-parameters to use instead of the definition's, such as a
            learning rate where the definition has none.

        Raises:
          AssertionError: there is no learning rate.
          TypeError: a definition of the program's own keeps a state that is no OptimizerState.
        """
        definition = self.optimizer_def
        hyper_params = definition.update_hyper_params(**hyper_param_overrides)
        fields = optax_fields(definition, hyper_params, self.target, self.state, inject)
        extra_args = not definition.has_param_states
        return to_train_state(**fields, apply_fn=apply_fn, extra_args=extra_args)

    @classmethod
    def from_train_state(
        cls, train_state: TrainState, definition: OptimizerDef | None = None
    ) -> Self:
        """The optimizer for a TrainState made by ``to_train_state``, at the step of the TrainState.

        Args:
          train_state: the TrainState.
          definition: the definition of the optimizer; its hyper-parameters hold from here on. None
            takes the definition whose ``to_train_state`` made the TrainState, from its ``tx``.

        Raises:
          TypeError: the program replaced ``tx``, and no definition is given.
          ValueError: the state belongs to another definition.
        """
        definition = definition or getattr(train_state.tx, "definition", None)
        if definition is None:
            raise TypeError(
                "The `tx` of this TrainState does not come from `to_train_state()`. Give the"
                " definition that does the same:"
                " `Optimizer.from_train_state(state, definition)`."
            )
        params: PyTree = train_state.params
        state = definition.from_opt_state(params, train_state.step, train_state.opt_state)
        return cls(definition, state, params)


_register(Optimizer)


def optax_fields(
    definition: OptimizerDef,
    hyper_params: HyperParams,
    target: PyTree,
    state: OptimizerState,
    inject: bool = True,
    like: PyTree = None,
) -> dict[str, Any]:
    """The fields of a TrainState but ``apply_fn``, each array in them only once.

    Args:
      definition: the definition.
      hyper_params: the values to start from.
      target: the parameters.
      state: the state of the optimizer.
      inject: whether hyper-parameters that are numbers can be set in the optax state.
      like: anything with the structure, shapes and dtypes of the parameters; None for the target.

    Raises:
      TypeError: a definition of the program's own keeps a state that is no OptimizerState.
    """
    if not hasattr(state, "param_states"):
        raise TypeError(
            f"{type(definition).__name__} keeps a state of its own, {type(state).__name__}. A"
            " TrainState is made from an `OptimizerState(step, param_states)`. Have"
            " `init_state` and `apply_gradient` return an OptimizerState, or keep the"
            " Optimizer."
        )
    like = target if like is None else like
    tx, opt_state = definition.to_opt_state(hyper_params, like, state, inject)
    step, params, opt_state = unshared((step_count(state.step), target, opt_state))
    # A program may rely on the very tree that it gave, as with TrainState.create.
    leaves = zip(jax.tree.leaves(params), jax.tree.leaves(target), strict=True)
    if all(new is old for new, old in leaves):
        params = target
    return {"tx": tx, "params": params, "step": step, "opt_state": opt_state}
