"""The base class of all definitions, in the module where Flax had it."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import optax
from flax import serialization
from jax.sharding import PartitionSpec

from flaxoptim_compat import deprecation, syntax
from flaxoptim_compat.bridge import axes, checkpoints
from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.definition import (
    Assignment,
    Formula,
    HyperParams,
    Leaf,
    OwnCode,
    ParamState,
    PyTree,
    Values,
)
from flaxoptim_compat.bridge.masks import _ShapeDtype
from flaxoptim_compat.bridge.sharding import of_state
from flaxoptim_compat.bridge.step import run_step
from flaxoptim_compat.bridge.trees import (
    Target,
    collecting_later,
    leaves_like,
    step_count,
    unshared,
)
from flaxoptim_compat.formula_text.injected_function import injected_function
from flaxoptim_compat.optim.by_value import ByValue
from flaxoptim_compat.optim.conversion import conversion_of, to_legacy_state, to_optax_state
from flaxoptim_compat.optim.dual_state import DualTrainState, is_dual
from flaxoptim_compat.optim.formula import Chain, parameters_of
from flaxoptim_compat.optim.model_param_traversal import ModelParamTraversal
from flaxoptim_compat.optim.optimizer import Optimizer, Params, _NoAux
from flaxoptim_compat.optim.removal import notice
from flaxoptim_compat.optim.state import OptimizerState
from flaxoptim_compat.optim.terms import lacks_rate, terms_of

if TYPE_CHECKING:
    from flaxoptim_compat.optim.multi_optimizer import MultiOptimizer
    from flaxoptim_compat.optim.replicated_optimizer import ReplicatedOptimizer

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

# Flax had these classes here too. They are subclasses, so their modules import this one.
_ELSEWHERE = {"MultiOptimizer": "multi_optimizer", "ReplicatedOptimizer": "replicated_optimizer"}


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    module = importlib.import_module(f"{__package__}.{_ELSEWHERE[name]}")
    return getattr(module, name)


class OptimizerDef(ByValue):
    """Base class of all definitions: the hyper-parameters, and how a gradient is applied.

    A subclass has one of two forms. Either it states its chain of optax in ``formula``; or it
    overrides ``init_param_state`` and ``apply_param_gradient``, as with Flax, and a step runs this
    code for every parameter.

    Args:
      hyper_params: a ``flax.struct.dataclass`` instance with the default hyper-parameters.
    """

    # The chain of optax; None for a class with code of its own.
    formula: ClassVar[Formula | None] = None
    # False if one state belongs to all parameters together: no part of such a state can be cut out.
    has_param_states: ClassVar[bool] = True
    # The MultiOptimizer for definitions of this class, and the definition for several devices.
    # Their modules, which import this one, set them.
    multi_optimizer: ClassVar[type[Any]]
    replicated_optimizer: ClassVar[type[Any]]
    # True if flax accepted gradients of other shapes that broadcast with their parameters.
    broadcasts: ClassVar[bool] = True
    # The subject of the removal notice, if the name of the class does not say all that was removed.
    _removed: ClassVar[str] = ""

    def __init__(self, hyper_params: HyperParams) -> None:
        self.hyper_params = hyper_params
        # The warning quotes the definition, which therefore must be complete.
        self.warn_of_removal()

    def apply_param_gradient(
        self, step: Leaf, hyper_params: HyperParams, param: Leaf, state: ParamState, grad: Leaf
    ) -> tuple[Leaf, ParamState]:
        """Apply the gradient of one parameter; returns the new parameter and its new state."""
        # The code of a subclass calls this too, through super().
        if self.formula is None:
            raise NotImplementedError(
                f"{type(self).__name__} defines neither `apply_param_gradient` nor a `formula`."
                " Override `apply_param_gradient` with the step of one parameter."
            )
        new_param, _, new_state = run_step(self, hyper_params, param, step, state, grad)
        return new_param, new_state

    def init_param_state(self, param: Leaf) -> ParamState:
        """The state of one parameter before the first step."""
        if not isinstance(self.formula, Chain):
            raise NotImplementedError(
                f"{type(self).__name__} does not define `init_param_state`. Override the method to"
                " return the state of one parameter before the first step."
            )
        return self.formula.first_state(param)

    def apply_gradient(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, grads: PyTree
    ) -> tuple[PyTree, OptimizerState]:
        """Apply the gradients of a tree of parameters; returns the new tree and the new state.

        Args:
          hyper_params: the hyper-parameters of this step.
          params: the parameters, any tree.
          state: an ``OptimizerState``.
          grads: a tree like ``params``.

        Raises:
          AssertionError: there is no learning rate.
          ValueError: the gradients do not fit the parameters.
        """
        if self.own_code().step:
            return self.step_by_own_code(hyper_params, params, state, grads)
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
          TypeError: an override is not known; the message names the known hyper-parameters.
        """
        hyper_params = hyper_param_overrides.pop("hyper_params", self.hyper_params)
        return self.overridden_hyper_params(hyper_params, hyper_param_overrides)

    def state_axes(
        self, params: PyTree, state: OptimizerState, param_axes: PyTree
    ) -> OptimizerState:
        """The axes of every array in a state, in the structure of the state.

        Args:
          params: the parameters, or ``jax.ShapeDtypeStruct`` in their place.
          state: the ``OptimizerState``, or the shapes that ``jax.eval_shape`` returns for it.
          param_axes: a ``PartitionSpec`` or None for each parameter.
        """
        states = leaves_like(params, state.param_states, "param_states")
        specs = leaves_like(params, param_axes, "param_axes")
        leaves, treedef = jax.tree.flatten(params)
        of_states = map(self.param_state_axes, leaves, states, specs)
        return OptimizerState(PartitionSpec(), jax.tree.unflatten(treedef, list(of_states)))

    def param_state_axes(self, param: Leaf, state: ParamState, axes: PyTree) -> ParamState:
        """The axes of every array in the state of one parameter, out of the parameter's axes.

        Override this in a definition whose states have other shapes than their parameters.
        """
        return of_state(param, state, axes)

    def create(self, target: Params, focus: Any = None) -> Optimizer[Params]:
        """An optimizer of this definition for a target.

        Args:
          target: the parameters: any tree, down to a single array.
          focus: a traversal that selects the leaves to optimize; all other leaves never change.
        """
        definition = self.multi_optimizer((focus, self)) if focus else self
        with collecting_later():
            state = definition.init_state(target)
        make = DualTrainState.of if is_dual(definition) else Optimizer
        return make(definition, state, target)

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
          opt_state: gives the structure and the shapes of the state.
          state_dict: the result of ``state_dict``, of this package or of any version of Flax.

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
        # The entries are of an older layout, axes in place of arrays, or wrong.
        if checkpoints.holds_axes(entries):
            target = serialization.from_state_dict(opt_target, entries["target"])
            return target, serialization.from_state_dict(opt_state, entries["state"])
        entries = checkpoints.fields_by_name(entries)
        target, misfits = checkpoints.restore(opt_target, entries["target"], "target")
        upgraded = self.upgrade_state_dict(target, entries["state"])
        state, more = checkpoints.restore(opt_state, upgraded, "state")
        taken = {"target": target, "state": state}
        fitting = axes.reshaped({"target": opt_target, "state": opt_state}, taken)
        if fitting is taken:
            checkpoints.warn_of(misfits + more)
        return fitting["target"], fitting["state"]

    def step_by_own_code(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, grads: PyTree
    ) -> tuple[PyTree, OptimizerState]:
        """The step without optax: ``apply_param_gradient`` for one parameter after the other."""
        leaves, treedef = jax.tree.flatten(params)
        states = leaves_like(params, state.param_states, "param_states")
        gradients = leaves_like(params, grads, "gradients")
        out = [
            self.apply_param_gradient(state.step, hyper_params, *leaf_state_gradient)
            for leaf_state_gradient in zip(leaves, states, gradients, strict=True)
        ]
        new_params = jax.tree.unflatten(treedef, [param for param, _ in out])
        new_states = jax.tree.unflatten(treedef, [new_state for _, new_state in out])
        return new_params, OptimizerState(state.step + 1, new_states)

    def step_of_leaves(
        self,
        hyper_params: HyperParams,
        leaves: Sequence[Leaf],
        step: Leaf,
        states: Sequence[ParamState],
        grads: Sequence[Leaf],
    ) -> tuple[Sequence[Leaf], Sequence[ParamState]]:
        """Apply gradients to a list of parameters, through the overridden methods of a subclass."""
        state = OptimizerState(step, tuple(states))
        new_leaves, new_state = self.apply_gradient(
            hyper_params, tuple(leaves), state, tuple(grads)
        )
        return new_leaves, new_state.param_states

    def overridden_hyper_params(
        self, hyper_params: HyperParams, overrides: Mapping[str, Any]
    ) -> HyperParams:
        """These hyper-parameters with overrides; an unknown override is a TypeError."""
        if not overrides:
            return hyper_params
        if dataclasses.is_dataclass(hyper_params):
            known = [*hp.fields_of(hyper_params)]
            hp.refuse_unknown(type(self).__name__, overrides, known)
        return hyper_params.replace(**overrides)

    def normalise(self, hyper_params: HyperParams) -> HyperParams:
        """These hyper-parameters with Python numbers as floats.

        Raises:
          AssertionError: there is no learning rate.
          TypeError: a hyper-parameter is no real number.
        """
        if self.formula is None:
            return hyper_params
        values = hp.read_like(hyper_params, self.hyper_params)
        return hp.normalise(type(self).__name__, values)

    def upgrade_state_dict(self, target: PyTree, state_dict: PyTree) -> PyTree:
        """Bring the state dict of an older Flax to the layout of Flax 0.5.3."""
        every_leaf = tuple(range(len(jax.tree.leaves(target))))
        return checkpoints.upgrade(target, state_dict, [Assignment(self, None, every_leaf)])

    def upgrade_param_state(self, param: Leaf, entry: PyTree) -> ParamState:
        """Bring the state of one parameter to the layout of Flax 0.5.3."""
        del param
        return entry

    # The definition in optax.

    def values(self, hyper_params: HyperParams) -> Values:
        """The values of the names in the formula: hyper-parameters, and attributes of this object.

        The name ``hyper_params`` stands for all hyper-parameters, as a user's own code takes them.
        """
        own = getattr(hyper_params, "__dict__", {})
        return {**vars(self), "hyper_params": hyper_params, **own}

    def expression(self, terms: HyperParams) -> ast.expr:
        """The chain as a syntax tree, with terms in place of the hyper-parameters.

        The names in the tree are ``optax``, ``jnp``, the ``transforms`` of this package, ``labels``
        in a MultiOptimizer, and the names of hyper-parameters that are no numbers.
        """
        if self.formula is None:
            raise NotImplementedError(
                f"{type(self).__name__} states no `formula`, so there is no optax chain for the"
                " class. Convert the definition with `to_optax(definition, params)`, which runs the"
                " code of the class."
            )
        return self.formula.expression(self.values(terms))

    def optax_expression(self) -> str | None:
        """The optax expression that does what the definition does; None if no single one does."""
        node = self.optax_syntax()
        return None if node is None else syntax.in_one_line(node)

    def optax_syntax(self) -> ast.expr | None:
        """The syntax tree of ``optax_expression``; None if there is no such expression."""
        if self.own_code():
            return None
        if not lacks_rate(self.hyper_params):
            return self.expression(terms_of(self.hyper_params))
        return self.expression_with_settable_rate()

    def expression_with_settable_rate(self) -> ast.expr:
        """The syntax tree with a learning rate of 0 in ``opt_state.hyperparams``, to be set."""
        # Only the rate is injected: a decay rate as a float32 array would lose four digits.
        body = self.expression(terms_of(self.hyper_params, free={"learning_rate"}))
        starts = {"learning_rate": ast.Constant(0.0)}
        short = injected_function(body, starts, {}, parameters_of)
        if short is not None:
            return short
        factory = syntax.function(["learning_rate"], body)
        return syntax.called(syntax.called("optax.inject_hyperparams", factory), **starts)

    def own_code(self) -> OwnCode:
        """The places where code of the program's own takes part in what this definition does."""
        overridden = self._overridden()
        step = self.formula is None or "apply_param_gradient" in overridden
        around = "apply_gradient" in overridden
        return OwnCode(step, around, elsewhere=bool(overridden) and not (step or around))

    def _overridden(self) -> set[str]:
        """The names of the methods that a subclass, or the program, overrides.

        Methods of the class that states the formula, and of classes above it, do not count.
        """
        # A program may also set a method on the object itself, as a test does.
        names = [*vars(self)]
        for home in type(self).__mro__:
            if "formula" in vars(home):
                break
            names += vars(home)
        return {name for name in names if not name.startswith("__") and hasattr(home, name)}

    def assign(
        self, hyper_params: HyperParams, params: PyTree, eligible: Sequence[int]
    ) -> list[Assignment]:
        """The definitions and the eligible leaves that each one moves: here, this one moves all."""
        del params
        return [Assignment(self, hyper_params, tuple(eligible))]

    def gradients_of_leaves(self, target: Target, grads: PyTree) -> list[Leaf]:
        """The gradient of each leaf; each needs one in all definitions but MultiOptimizer."""
        return target.flatten(grads, "gradients")

    # The way out: ``to_optax`` and ``to_train_state`` call these methods.

    def to_transformation(
        self, hyper_params: HyperParams, params: PyTree
    ) -> optax.GradientTransformationExtraArgs:
        """The transformation that does what the definition does, from its first step on.

        Args:
          hyper_params: the values to start from. Arrays are built into the transformation, which
            ``optax.inject_hyperparams`` makes anew for other arrays.
          params: anything with the structure, shapes and dtypes of the parameters.
        """
        tx = conversion_of(self, hyper_params, params, inject_arrays=False).transformation()

        def init(params: PyTree) -> PyTree:
            # From the definition's own first state: a subclass may begin with other numbers than 0.
            conversion = conversion_of(self, hyper_params, params, inject_arrays=False)
            state = self.init_state(params)
            states = leaves_like(params, state.param_states, "param_states")
            return unshared(conversion.opt_state(step_count(state.step), states))

        return optax.GradientTransformationExtraArgs(init, tx.update)

    def to_opt_state(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, inject: bool = True
    ) -> tuple[optax.GradientTransformationExtraArgs, PyTree]:
        """The transformation, and its state converted from the state of an optimizer.

        Args:
          hyper_params: the values to start from.
          params: the parameters.
          state: the state of the optimizer.
          inject: whether hyper-parameters that are numbers can be set in the optax state.
        """
        return to_optax_state(self, hyper_params, params, state, inject=inject)

    def from_opt_state(self, params: PyTree, step: Leaf, opt_state: PyTree) -> OptimizerState:
        """The state of an optimizer, converted from the state of the transformation.

        Raises:
          ValueError: the optax state belongs to another transformation.
        """
        return to_legacy_state(self, params, step, opt_state)

    def unreplicated(self) -> OptimizerDef:
        """The definition of a single copy of a replicated optimizer.

        Raises:
          ValueError: ``Optimizer.replicate`` did not make this definition.
        """
        raise ValueError(
            "Cannot unreplicate an optimizer that is not replicated. If `jax_utils.replicate` made"
            " the copies, call `jax_utils.unreplicate(optimizer)`."
        )

    def __repr__(self) -> str:
        return self.shown(getattr(self, "hyper_params", None))

    def shown(self, hyper_params: HyperParams) -> str:
        """The text of ``repr`` for these hyper-parameters: the class with its arguments."""
        values = getattr(hyper_params, "__dict__", {})
        arguments = ", ".join(f"{name}={value!r}" for name, value in values.items())
        return f"{type(self).__name__}({arguments})"

    def warn_of_removal(self) -> None:
        """Give the removal notice, as a warning about the line that makes this definition."""
        deprecation.warn(self.removal_notice())

    def removal_notice(self) -> str:
        """The text of the warning: the removed name, and the expression to write instead."""
        ours = (cls for cls in type(self).__mro__ if cls.__module__.startswith(__package__))
        removed = self._removed or f"flax.optim.{next(ours).__name__}"
        try:
            expression = self.optax_expression()
        except Exception:
            # Hyper-parameters of a subclass may be anything; no program may fail for a warning.
            expression = None
        return notice(removed, type(self).__name__, expression)
