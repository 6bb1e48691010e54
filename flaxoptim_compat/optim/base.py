"""Definition, optimizer and state, and the variants of both: the names of ``flax.optim.base``."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax
from flax import jax_utils, serialization
from jax.sharding import PartitionSpec
from jax.tree_util import PyTreeDef

from flaxoptim_compat import deprecation, syntax
from flaxoptim_compat.bridge import axes, checkpoints
from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.definition import (
    Assignment,
    Formula,
    HyperParams,
    Leaf,
    ParamState,
    PyTree,
    Values,
)
from flaxoptim_compat.bridge.masks import _ShapeDtype, labelled, select
from flaxoptim_compat.bridge.sharding import of_state
from flaxoptim_compat.bridge.step import apply_gradient as run_step
from flaxoptim_compat.bridge.strictness import is_strict, let_pass
from flaxoptim_compat.bridge.trees import leaves_like, step_count, unshared
from flaxoptim_compat.formula_text.injected_function import injected_function
from flaxoptim_compat.formula_text.stages import label_of, partition
from flaxoptim_compat.optim.by_value import ByValue
from flaxoptim_compat.optim.conversion import FromDefinition, conversion_of
from flaxoptim_compat.optim.formula import Chain, parameters_of
from flaxoptim_compat.optim.model_param_traversal import ModelParamTraversal, selects
from flaxoptim_compat.optim.optimizer import Optimizer, Params, _NoAux
from flaxoptim_compat.optim.state import OptimizerState
from flaxoptim_compat.optim.terms import lacks_rate, terms_of

__all__ = [
    "ModelParamTraversal",
    "MultiOptimizer",
    "Optimizer",
    "OptimizerDef",
    "OptimizerState",
    "ReplicatedOptimizer",
    "_NoAux",
    "_ShapeDtype",
]


_REMOVED_IN = "0.6"

# What the text of a warning takes for granted, if this stands in it.
_PREMISES = {
    "transforms.": "after `from flaxoptim_compat import transforms`",
    "inject_hyperparams": 'with opt_state.hyperparams["learning_rate"] set before each step',
    "labels)": "where labels is a tree like the parameters that holds, for each of them, the"
    ' position of the traversal that selects it, as in "part_0", or "frozen"',
}


class OptimizerDef(ByValue):
    """Base class of all definitions: the hyper-parameters, and how a gradient is applied.

    A subclass either overrides ``init_param_state`` and ``apply_param_gradient``, as with Flax, and
    then its own code runs for every parameter; or it states its chain of optax in ``formula``.

    Args:
      hyper_params: a ``flax.struct.dataclass`` instance with the default hyper-parameters.
    """

    # The chain of optax; None where the class has code of its own.
    formula: ClassVar[Formula | None] = None
    # False where the state is one of all parameters together, so that no part can be cut out.
    has_param_states: ClassVar[bool] = True
    # The MultiOptimizer that takes such a definition as a part.
    multi_optimizer: ClassVar[type[Any] | None] = None
    # Whether flax took gradients of other shapes that broadcast with their parameters.
    broadcasts: ClassVar[bool] = True
    # The subject of the warning, where it is not just the class.
    _removed: ClassVar[str] = ""

    def __init__(self, hyper_params: HyperParams) -> None:
        self.hyper_params = hyper_params
        # Last, so that a definition of ours is complete by then.
        self.warn_of_removal()

    def apply_param_gradient(
        self, step: Leaf, hyper_params: HyperParams, param: Leaf, state: ParamState, grad: Leaf
    ) -> tuple[Leaf, ParamState]:
        """Apply the gradient of one parameter; returns the new parameter and its new state."""
        # Also called by the code of a subclass, through super().
        if self.formula is None:
            raise NotImplementedError(
                f"{type(self).__name__} defines neither apply_param_gradient nor a formula."
            )
        new_param, _, new_state = run_step(self, hyper_params, param, step, state, grad)
        return new_param, new_state

    def init_param_state(self, param: Leaf) -> ParamState:
        """The state of one parameter before the first step."""
        if not isinstance(self.formula, Chain):
            raise NotImplementedError(f"{type(self).__name__} does not define init_param_state.")
        return self.formula.first_state(param)

    def apply_gradient(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, grads: PyTree
    ) -> tuple[PyTree, OptimizerState]:
        """Apply the gradients of a tree of parameters; returns the new tree and the new state.

        Args:
          hyper_params: those of this step.
          params: the parameters, any tree.
          state: an ``OptimizerState``.
          grads: a tree like ``params``.

        Raises:
          AssertionError: there is no learning rate.
          ValueError: the gradients do not fit the parameters.
        """
        if not self.has_chain():
            return self.apply_directly(hyper_params, params, state, grads)
        new_params, count, param_states = run_step(
            self, hyper_params, params, state.step, state.param_states, grads
        )
        return new_params, OptimizerState(count, param_states)

    def init_state(self, params: PyTree) -> OptimizerState:
        """The state of a tree of parameters before the first step."""
        param_states = jax.tree.map(self.init_param_state, params)
        return OptimizerState(jnp.asarray(0, dtype=jnp.int32), param_states)

    def update_hyper_params(self, **hyper_param_overrides: Any) -> HyperParams:
        """The hyper-parameters of one step: the defaults with these overrides.

        Args:
          **hyper_param_overrides: single values by name; ``hyper_params=`` replaces all of them.

        Raises:
          TypeError: an override is not known; the message names those that are.
        """
        hyper_params = hyper_param_overrides.pop("hyper_params", self.hyper_params)
        return self.overridden_hyper_params(hyper_params, hyper_param_overrides)

    def state_axes(
        self, params: PyTree, state: OptimizerState, param_axes: PyTree
    ) -> OptimizerState:
        """The axes of every array in a state, in the structure of the state.

        Args:
          params: the parameters, or ``jax.ShapeDtypeStruct`` in their place.
          state: the ``OptimizerState``, or what ``jax.eval_shape`` says of ``init_state``.
          param_axes: a ``PartitionSpec`` or None for each parameter.
        """
        states = leaves_like(params, state.param_states, "param_states")
        specs = leaves_like(params, param_axes, "param_axes")
        leaves, treedef = jax.tree.flatten(params)
        found = map(self.param_state_axes, leaves, states, specs)
        return OptimizerState(PartitionSpec(), jax.tree.unflatten(treedef, list(found)))

    def param_state_axes(self, param: Leaf, state: ParamState, axes: PyTree) -> ParamState:
        """The axes of every array in the state of one parameter, out of the parameter's axes.

        A definition with a state of other shapes than its parameter's may override this.
        """
        return of_state(param, state, axes)

    def create(self, target: Params, focus: Any = None) -> Optimizer[Params]:
        """An optimizer of this definition for a target.

        Args:
          target: the parameters: any tree, down to a single array.
          focus: a traversal that selects the leaves to optimize; the others stay as they are.
        """
        definition: OptimizerDef = MultiOptimizer((focus, self)) if focus else self
        return Optimizer(definition, definition.init_state(target), target)

    def state_dict(self, target: PyTree, state: OptimizerState) -> PyTree:
        """Target and state as nested dicts of arrays, the form that checkpoints hold."""
        return serialization.to_state_dict(
            {
                "target": serialization.to_state_dict(target),
                "state": serialization.to_state_dict(state),
            }
        )

    def restore_state(
        self, opt_target: PyTree, opt_state: PyTree, state_dict: PyTree
    ) -> tuple[PyTree, OptimizerState]:
        """Target and state with the values of a state dict, of this or an older layout.

        Args:
          opt_target: gives the structure and the shapes of the target.
          opt_state: gives those of the state.
          state_dict: what ``state_dict`` returned, here or in Flax.

        Raises:
          ValueError: an entry is missing, flax refuses one that is not expected, or the step is
            no count; the message names it.
        """
        entries = checkpoints.expect_entries(state_dict, ("target", "state"))
        checkpoints.refuse_no_count(entries["state"])
        with contextlib.suppress(checkpoints.NotFitting):
            like = {"target": opt_target, "state": opt_state}
            restored = checkpoints.restore_fitting(like, entries)
            return restored["target"], restored["state"]
        # Something is different: say what, or take it as an older layout or as axes.
        if checkpoints.holds_axes(entries):
            target = serialization.from_state_dict(opt_target, entries["target"])
            return target, serialization.from_state_dict(opt_state, entries["state"])
        entries = checkpoints.fields_by_name(entries)
        target, misfits = checkpoints.restore(opt_target, entries["target"], "target")
        upgraded = self.upgrade_state_dict(target, entries["state"])
        state, more = checkpoints.restore(opt_state, upgraded, "state")
        taken = {"target": target, "state": state}
        fitting = axes.mended({"target": opt_target, "state": opt_state}, taken)
        if fitting is taken:
            checkpoints.warn_of(misfits + more)
        return fitting["target"], fitting["state"]

    def apply_directly(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, grads: PyTree
    ) -> tuple[PyTree, OptimizerState]:
        """The step without optax: ``apply_param_gradient`` for one parameter after the other."""
        leaves, treedef = jax.tree.flatten(params)
        states = leaves_like(params, state.param_states, "param_states")
        gradients = leaves_like(params, grads, "gradients")
        out = [
            self.apply_param_gradient(state.step, hyper_params, *each)
            for each in zip(leaves, states, gradients, strict=True)
        ]
        new_params = jax.tree.unflatten(treedef, [param for param, _ in out])
        new_states = jax.tree.unflatten(treedef, [new_state for _, new_state in out])
        return new_params, OptimizerState(state.step + 1, new_states)

    def apply_to_leaves(
        self,
        hyper_params: HyperParams,
        leaves: Sequence[Leaf],
        step: Leaf,
        states: Sequence[ParamState],
        grads: Sequence[Leaf],
    ) -> tuple[Sequence[Leaf], Sequence[ParamState]]:
        """Apply gradients to a list of parameters, through whatever the subclass overrides."""
        state = OptimizerState(step, tuple(states))
        new_leaves, new_state = self.apply_gradient(
            hyper_params, tuple(leaves), state, tuple(grads)
        )
        return new_leaves, new_state.param_states

    def overridden_hyper_params(
        self, hyper_params: HyperParams, overrides: Mapping[str, Any]
    ) -> HyperParams:
        """These hyper-parameters with overrides, all of which must be known."""
        return hp.replace_known(type(self).__name__, hyper_params, overrides)

    def normalise(self, hyper_params: HyperParams) -> HyperParams:
        """These hyper-parameters with Python numbers as floats, and certainly a learning rate."""
        if self.formula is None:
            return hyper_params
        values = hp.read_like(hyper_params, self.hyper_params)
        return hp.normalise(type(self).__name__, values)

    def upgrade_state_dict(self, target: PyTree, state_dict: PyTree) -> PyTree:
        """Bring the state dict of an older Flax to the layout of Flax 0.5.3."""
        return checkpoints.upgrade(
            target, state_dict, lambda index, param, entry: self.upgrade_param_state(param, entry)
        )

    def upgrade_param_state(self, param: Leaf, entry: PyTree) -> ParamState:
        """Bring the state of one parameter to the layout of Flax 0.5.3."""
        del param
        return entry

    # What the definition is in optax.

    def values(self, hyper_params: HyperParams) -> Values:
        """What the names in the formula stand for: hyper-parameters, or attributes of this.

        ``hyper_params`` are all of them, as a user's own code wants them.
        """
        own = getattr(hyper_params, "__dict__", {})
        return {**vars(self), "hyper_params": hyper_params, **own}

    def optax_chain(self, hyper_params: HyperParams) -> optax.GradientTransformation:
        """The transformation of optax that does what the definition does, with these values."""
        if self.formula is None:
            raise NotImplementedError(f"{type(self).__name__} states no formula.")
        return self.formula.transformation(self.values(hyper_params))

    def expression(self, terms: HyperParams) -> ast.expr:
        """The same as a syntax tree, with terms in place of the hyper-parameters.

        Its names are ``optax``, ``jnp``, the ``transforms`` of this package, ``labels`` in a
        MultiOptimizer, and those of hyper-parameters that are no numbers.
        """
        if self.formula is None:
            raise NotImplementedError(f"{type(self).__name__} states no formula.")
        return self.formula.expression(self.values(terms))

    def optax_expression(self) -> str | None:
        """The Python expression for what the definition does; None if there is no single one."""
        node = self.optax_syntax()
        return None if node is None else syntax.in_one_line(node)

    def optax_syntax(self) -> ast.expr | None:
        """The syntax tree of that expression."""
        if not self.has_expression():
            return None
        if not lacks_rate(self.hyper_params):
            return self.expression(terms_of(self.hyper_params))
        return self.expression_with_settable_rate()

    def expression_with_settable_rate(self) -> ast.expr:
        """The syntax tree with the learning rate in ``opt_state.hyperparams``, where it is 0."""
        # The rate alone is injected: a decay rate as a float32 array would lose four digits.
        body = self.expression(terms_of(self.hyper_params, free={"learning_rate"}))
        starts = {"learning_rate": ast.Constant(0.0)}
        short = injected_function(body, starts, {}, parameters_of)
        if short is not None:
            return short
        factory = syntax.function({"learning_rate": None}, body)
        return syntax.called(syntax.called("optax.inject_hyperparams", factory), **starts)

    def has_expression(self) -> bool:
        """Whether there is a text, and no subclass overrides anything since but ``__init__``."""
        order = type(self).__mro__
        home = next(cls for cls in order if {"expression", "formula"} & vars(cls).keys())
        overridden = [
            name
            for cls in order[: order.index(home)]
            for name in vars(cls)
            if not name.startswith("__") and hasattr(home, name)
        ]
        return home is not OptimizerDef and not overridden

    def has_chain(self) -> bool:
        """Whether there is a chain, and no subclass overrides the per-parameter code since."""
        return self._chain_is_newer_than("apply_param_gradient")

    def on_optax(self) -> bool:
        """Whether a step may go through the chain without asking ``apply_gradient``."""
        return self.has_chain() and self._chain_is_newer_than("apply_gradient")

    def _chain_is_newer_than(self, method: str) -> bool:
        if method in vars(self):
            return False  # a program put one on this very definition, as a test may
        order = type(self).__mro__
        chain = next(cls for cls in order if "formula" in vars(cls))
        other = next(cls for cls in order if method in vars(cls))
        return self.formula is not None and order.index(chain) <= order.index(other)

    def compiles(self) -> bool:
        """Whether no code of the user's runs in a step, so that it can be compiled unasked."""
        return self.has_chain()

    def assign(
        self, hyper_params: HyperParams, params: PyTree, eligible: Sequence[int]
    ) -> list[Assignment]:
        """Which definition moves which of the eligible leaves: here, this one moves them all."""
        del params
        return [Assignment(self, hyper_params, tuple(eligible))]

    def partial_gradients(self, params: PyTree, grads: PyTree) -> list[Leaf] | None:
        """Those of all leaves, out of a tree of some: here, each leaf needs its own."""
        del params, grads
        return None

    # The way out, as ``to_optax`` and ``to_train_state`` go it.

    def to_transformation(
        self, hyper_params: HyperParams, params: PyTree
    ) -> optax.GradientTransformationExtraArgs:
        """The transformation that does what the definition does; ``init`` makes its first state.

        Args:
          hyper_params: the values to start from. Arrays are built in, so that the definition can be
            made anew with other ones, as in ``optax.inject_hyperparams``.
          params: anything with the structure, shapes and dtypes of the parameters.
        """
        tx = conversion_of(self, hyper_params, params, inject_arrays=False).transformation()

        def init(params: PyTree) -> PyTree:
            # The definition's own first state: a subclass may begin with something else than zeros.
            conversion = conversion_of(self, hyper_params, params, inject_arrays=False)
            state = self.init_state(params)
            states = leaves_like(params, state.param_states, "param_states")
            return unshared(conversion.opt_state(step_count(state.step), states))

        return optax.GradientTransformationExtraArgs(init, tx.update)

    def to_opt_state(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, inject: bool = True
    ) -> tuple[optax.GradientTransformationExtraArgs, PyTree]:
        """The transformation, and its state out of the state of an optimizer.

        Args:
          hyper_params: the values to start from.
          params: the parameters.
          state: that of the optimizer.
          inject: whether numbers can be set in the state.
        """
        conversion = conversion_of(self, hyper_params, params, inject_numbers=inject)
        states = leaves_like(params, state.param_states, "param_states")
        opt_state = conversion.opt_state(step_count(state.step), states)
        made = conversion.transformation()
        tx = FromDefinition.of(made, self, hyper_params, params, inject=inject)
        return tx, opt_state

    def from_opt_state(self, params: PyTree, step: Leaf, opt_state: PyTree) -> OptimizerState:
        """The state of an optimizer, out of that of the transformation.

        Raises:
          ValueError: the state is that of another transformation.
        """
        fresh = self.init_state(params)
        conversion = conversion_of(self, self.hyper_params, params, normalise=False)
        conversion.check(opt_state)
        states = conversion.param_states(
            opt_state, leaves_like(params, fresh.param_states, "param_states")
        )
        treedef = jax.tree.structure(params)
        return OptimizerState(jnp.asarray(step, jnp.int32), jax.tree.unflatten(treedef, states))

    def replicated(
        self, devices: Sequence[jax.Device] | None, axis_name: str
    ) -> ReplicatedOptimizer:
        """What is in the definition's place on several devices: see ``Optimizer.replicate``."""
        return ReplicatedOptimizer(self, devices, axis_name)

    def unreplicated(self) -> OptimizerDef:
        """What ``replicated`` was called on.

        Raises:
          ValueError: it was not called.
        """
        raise ValueError(
            "Cannot unreplicate an optimizer that is not replicated."
            " For one that jax_utils.replicate made, use jax_utils.unreplicate."
        )

    def __repr__(self) -> str:
        return self.shown(getattr(self, "hyper_params", None))

    def shown(self, hyper_params: HyperParams) -> str:
        """The class with these hyper-parameters, as ``repr`` has it."""
        given = getattr(hyper_params, "__dict__", {})
        return f"{type(self).__name__}({', '.join(f'{name}={given[name]!r}' for name in given)})"

    def warn_of_removal(self) -> None:
        """Warn about the line of the program that makes this definition."""
        deprecation.warn(self.removal_notice())

    def removal_notice(self) -> str:
        """What is gone, and what to write instead."""
        ours = (cls for cls in type(self).__mro__ if cls.__module__.startswith(__package__))
        removed = self._removed or f"flax.optim.{next(ours).__name__}"
        subject = f"{removed} was removed from Flax in {_REMOVED_IN}."
        try:
            expression = self.optax_expression()
        except Exception:
            # A subclass may do anything to its hyper-parameters, and must not fail for a warning.
            expression = None
        if expression is None:
            return (
                f"{subject} No single optax expression does what this {type(self).__name__} does;"
                " optimizer.to_train_state() turns an optimizer with it into a flax TrainState on"
                " optax, at any step."
            )
        premises = [premise for name, premise in _PREMISES.items() if name in expression]
        return f"{subject} {', '.join(['Exactly the same in optax', *premises])}: {expression}"


class ReplicatedOptimizer(OptimizerDef):
    """Averages gradients over the devices of a ``pmap``, then does what another definition does.

    Args:
      optimizer_def: the other definition.
      devices: where the copies are; all local devices if None.
      axis_name: the axis of the ``pmap``.
    """

    def __init__(
        self,
        optimizer_def: OptimizerDef,
        devices: Sequence[jax.Device] | None = None,
        axis_name: str = "batch",
    ) -> None:
        self.optimizer_def = optimizer_def
        self.devices = jax.local_devices() if devices is None else devices
        self.axis_name = axis_name
        super().__init__(optimizer_def.hyper_params)

    def unreplicated(self) -> OptimizerDef:
        """The other definition."""
        return self.optimizer_def

    def shown(self, hyper_params: HyperParams) -> str:
        """The class, around the other definition."""
        return f"{type(self).__name__}({self.optimizer_def.shown(hyper_params)})"

    def removal_notice(self) -> str:
        """What to write in place of ``Optimizer.replicate``."""
        return (
            f"Optimizer.replicate was removed from Flax in {_REMOVED_IN}. Exactly the same:"
            " flax.jax_utils.replicate(optimizer), and in each step"
            f" grads = jax.lax.pmean(grads, axis_name={self.axis_name!r})"
        )

    def init_state(self, params: PyTree) -> OptimizerState:
        """The state of the other definition."""
        return self.optimizer_def.init_state(params)

    def _cross_replica_mean(self, grad: Leaf) -> Leaf:
        return jax.lax.pmean(grad, axis_name=self.axis_name)

    def apply_gradient(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, grads: PyTree
    ) -> tuple[PyTree, OptimizerState]:
        """Average the gradients and apply them."""
        grads = jax.tree.map(self._cross_replica_mean, grads)
        return self.optimizer_def.apply_gradient(hyper_params, params, state, grads)

    def update_hyper_params(self, **hyper_param_overrides: Any) -> HyperParams:
        """The hyper-parameters of one step of the other definition."""
        return self.optimizer_def.update_hyper_params(**hyper_param_overrides)

    def state_dict(self, target: PyTree, state: OptimizerState) -> PyTree:
        """The state dict of the first copy only."""
        return jax.tree.map(lambda leaf: leaf[0], self.optimizer_def.state_dict(target, state))

    def restore_state(
        self, target: PyTree, opt_state: PyTree, state_dict: PyTree
    ) -> tuple[PyTree, OptimizerState]:
        """Restore a single copy onto every device."""
        # Of the single copy only the structure and the shapes are asked for.
        target, opt_state = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), (target, opt_state)
        )
        # Replicated last: bringing an older layout up to date is arithmetic on single copies.
        restored = self.optimizer_def.restore_state(target, opt_state, state_dict)
        return jax_utils.replicate(restored, devices=self.devices)  # type: ignore[no-any-return]


class MultiOptimizer(OptimizerDef):
    """Applies different optimizers to different parts of a target.

    In optax this is an ``optax.partition``, with the rest held as it is. A leaf that no traversal
    selects never changes, and its state is None. ``hyper_params`` is a list with one entry for each
    optimizer.

    Args:
      *traversals_and_optimizers: pairs of a ``flax.traverse_util.Traversal`` and a definition.
    """

    # create(focus=...) makes one as well, for a program that may not know the class.
    _removed: ClassVar[str] = "flax.optim.MultiOptimizer, and with it create(focus=...),"

    def __init__(self, *traversals_and_optimizers: tuple[Any, OptimizerDef]) -> None:
        if not traversals_and_optimizers:
            raise ValueError("MultiOptimizer needs at least one pair (traversal, optimizer).")
        traversals, sub_optimizers = zip(*traversals_and_optimizers, strict=True)
        for definition in sub_optimizers:
            kind = getattr(definition, "multi_optimizer", None)
            if kind is not None and type(self) is MultiOptimizer:
                # Not in __new__, which subclasses with other arguments would have to know of.
                self.__class__ = kind
            if self.has_param_states:
                refuse_as_part(definition, type(self).__name__, "Use MultiOptimizer itself.")
        self.traversals = traversals
        self.sub_optimizers = sub_optimizers
        super().__init__([definition.hyper_params for definition in sub_optimizers])

    def init_state(self, params: PyTree) -> OptimizerState:
        """The state before the first step: that of each optimizer for its leaves, else None.

        Raises:
          ValueError: two traversals select the same leaf.
        """
        leaves = jax.tree.leaves(params)

        def first(each: Assignment) -> PyTree:
            mine = tuple(_as_array(leaves[index]) for index in each.leaves)
            return each.definition.init_state(mine).param_states

        states = self._said_by_each(params, first)
        return OptimizerState(jnp.asarray(0, dtype=jnp.int32), states)

    def state_axes(
        self, params: PyTree, state: OptimizerState, param_axes: PyTree
    ) -> OptimizerState:
        """What each optimizer says of its leaves; None for the leaves that none of them moves."""
        columns = (
            jax.tree.leaves(params),
            leaves_like(params, state.param_states, "param_states"),
            leaves_like(params, param_axes, "param_axes"),
        )

        def axes(each: Assignment) -> PyTree:
            mine, states, specs = (tuple(its[index] for index in each.leaves) for its in columns)
            inner = OptimizerState(state.step, states)
            return each.definition.state_axes(mine, inner, specs).param_states

        return OptimizerState(PartitionSpec(), self._said_by_each(params, axes))

    def _said_by_each(self, params: PyTree, say: Callable[[Assignment], PyTree]) -> PyTree:
        """What each optimizer says of its leaves, and None for the leaves of none."""
        treedef: PyTreeDef = jax.tree.structure(params)
        found: list[ParamState] = [None] * treedef.num_leaves
        for each in self.assign(self.hyper_params, params, range(len(found))):
            for index, its in zip(each.leaves, say(each), strict=True):
                found[index] = its
        return treedef.unflatten(found)

    def shown(self, hyper_params: HyperParams) -> str:
        """The class, with the pairs of traversals and definitions."""
        parts = zip(self.traversals, self.sub_optimizers, hyper_params, strict=False)
        pairs = [f"({selects(who)}, {part.shown(values)})" for who, part, values in parts]
        return f"{type(self).__name__}({', '.join(pairs)})"

    def has_chain(self) -> bool:
        """True: the parts are optax chains, or are called by name."""
        return True

    def on_optax(self) -> bool:
        """Whether no subclass overrides ``apply_gradient``."""
        inherits = type(self).apply_gradient is OptimizerDef.apply_gradient
        return inherits and "apply_gradient" not in vars(self)

    def has_expression(self) -> bool:
        """Whether every part has one."""
        parts = self.sub_optimizers
        return super().has_expression() and all(part.has_expression() for part in parts)

    def expression(self, terms: HyperParams) -> ast.expr:
        """What all parts do, by their labels."""
        parts = {
            label: definition.expression(values)
            for label, definition, values in self._parts_by_label(terms)
        }
        return partition(parts, ast.Name("labels"))

    def expression_with_settable_rate(self) -> ast.expr:
        """The rate of a single part stands at the top; of several, each has its own."""
        parts = list(self._parts_by_label(self.hyper_params))
        if len(parts) == 1:
            return super().expression_with_settable_rate()
        settable = {label: each.expression_with_settable_rate() for label, each, _ in parts}
        return partition(settable, ast.Name("labels"))

    def labels(self, params: PyTree) -> PyTree:
        """For every parameter the key, in that text, of the optimizer that moves it."""
        treedef: PyTreeDef = jax.tree.structure(params)
        every = range(treedef.num_leaves)
        return labelled(treedef, self.assign(self.hyper_params, params, every))

    def _parts_by_label(
        self, hyper_params: HyperParams, within: str = ""
    ) -> Iterator[tuple[str, OptimizerDef, HyperParams]]:
        for index, (definition, values) in enumerate(self._with_hyper_params(hyper_params)):
            label = f"{within}{label_of(index)}"
            if isinstance(definition, MultiOptimizer):
                yield from definition._parts_by_label(values, f"{label}.")
            else:
                yield label, definition, values

    def compiles(self) -> bool:
        """Whether every part is an optax chain."""
        return all(
            definition.on_optax() and definition.compiles() for definition in self.sub_optimizers
        )

    def assign(
        self, hyper_params: HyperParams, params: PyTree, eligible: Sequence[int]
    ) -> list[Assignment]:
        """Which definition moves which leaf, through MultiOptimizers inside this one as well."""
        selected = select(self.traversals, params, eligible)
        assignments = []
        pairs = self._with_hyper_params(hyper_params)
        # One without hyper-parameters is left out.
        for index, ((definition, values), leaves) in enumerate(zip(pairs, selected, strict=False)):
            if isinstance(definition, MultiOptimizer) and definition.on_optax():
                assignments += [
                    dataclasses.replace(each, label=f"{label_of(index)}.{each.label}")
                    for each in definition.assign(values, params, leaves)
                ]
            else:
                assignments.append(Assignment(definition, values, leaves, label_of(index)))
        return assignments

    def partial_gradients(self, params: PyTree, grads: PyTree) -> list[Leaf] | None:
        """Those of all leaves, where only what the traversals select has one, as flax took them.

        A leaf that no optimizer moves stands for its own gradient, which nothing asks for.
        """
        found = jax.tree.leaves(params)
        selected = select(self.traversals, params, range(len(found)))
        for traversal, leaves in zip(self.traversals, selected, strict=True):
            # A traversal may stop at a container, of which the gradients have the structure.
            own: PyTreeDef = jax.tree.structure(list(traversal.iterate(params)))
            try:
                mine = own.flatten_up_to(list(traversal.iterate(grads)))
            except (AttributeError, LookupError, TypeError, ValueError):
                return None
            for index, gradient in zip(leaves, mine, strict=True):
                found[index] = gradient
        return found

    def overridden_hyper_params(
        self, hyper_params: HyperParams, overrides: Mapping[str, Any]
    ) -> list[HyperParams]:
        """The same overrides for every optimizer."""
        return [
            definition.overridden_hyper_params(values, overrides)
            for definition, values in self._with_hyper_params(hyper_params)
        ]

    def normalise(self, hyper_params: HyperParams) -> HyperParams:
        """The hyper-parameters of every optimizer, each as it wants them."""
        return [
            definition.normalise(values) if definition.on_optax() else values
            for definition, values in self._with_hyper_params(hyper_params)
        ]

    def _with_hyper_params(
        self, hyper_params: Iterable[HyperParams]
    ) -> list[tuple[OptimizerDef, HyperParams]]:
        listed = isinstance(hyper_params, Iterable)
        hyper_params = list(hyper_params) if listed else []
        if not listed or len(hyper_params) != len(self.sub_optimizers):
            found = f"has {len(hyper_params)} entries" if listed else "is no list"
            problem = (
                f"hyper_params {found}, the MultiOptimizer has {len(self.sub_optimizers)}"
                " optimizers: give a list with one entry for each."
            )
            if not listed or is_strict():
                raise ValueError(problem)
            let_pass(
                f"{problem} As in flax.optim, what is left over is left out: an optimizer"
                " without an entry moves nothing in this step, and loses its state."
            )
        return list(zip(self.sub_optimizers, hyper_params, strict=False))

    def step_structure(self) -> tuple[object, ...]:
        """The traversals, and the structure of every optimizer."""
        return (
            type(self),
            self.traversals,
            tuple(definition.step_structure() for definition in self.sub_optimizers),
        )

    def upgrade_state_dict(self, target: PyTree, state_dict: PyTree) -> PyTree:
        """Bring the state dict of an older Flax to the layout of Flax 0.5.3."""
        count = len(jax.tree.leaves(target))
        assignments = self.assign(self.hyper_params, target, range(count))
        merged = checkpoints.merge_list_of_states(
            target, state_dict, [each.leaves for each in assignments]
        )
        owner = {index: each.definition for each in assignments for index in each.leaves}
        return checkpoints.upgrade(
            target,
            merged,
            lambda index, param, entry: (
                owner[index].upgrade_param_state(param, entry) if index in owner else entry
            ),
        )


def refuse_as_part(definition: OptimizerDef, whole: str, instead: str) -> None:
    """Raise the TypeError of a definition that cannot be a part of another, if it is one."""
    if not hasattr(definition, "has_param_states"):
        raise TypeError(
            f"{type(definition).__name__} cannot be in a {whole}: derive it from"
            " flaxoptim_compat.optim.OptimizerDef, which has more methods than that of flax.optim."
        )
    if not definition.has_param_states:
        raise TypeError(
            "A definition of from_optax has one state for all parameters and cannot be in a"
            f" {whole}. {instead}"
        )


def _as_array(leaf: Leaf) -> jax.Array:
    # Of an array that has values it is the array itself, which asking finds out slowly.
    concrete = isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)
    return leaf if concrete else jnp.asarray(leaf)
