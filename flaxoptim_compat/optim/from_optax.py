"""Legacy definitions made from optax transformations, for programs that change in small steps."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, TypeAlias

import jax
import jax.numpy as jnp
import optax
from flax import struct
from jax.sharding import PartitionSpec
from jax.tree_util import PyTreeDef

from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge import injected, sharding
from flaxoptim_compat.bridge.definition import HyperParams, Leaf, PyTree
from flaxoptim_compat.bridge.extra_args import ignored, update
from flaxoptim_compat.bridge.trees import as_floats, gradient_leaves, step_count
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.conversion import FromDefinition
from flaxoptim_compat.optim.formula import Factory
from flaxoptim_compat.optim.optax_multi_optimizer import OptaxMultiOptimizer
from flaxoptim_compat.optim.state import OptimizerState

# A transformation with all hyper-parameters in its state, or a function that makes a
# transformation.
TransformationSource: TypeAlias = optax.GradientTransformation | Factory


def from_optax(
    tx: TransformationSource,
    **hyper_params: HyperParams,
) -> OptimizerDef:
    """A legacy definition that does what an optax transformation does.

    ``from_optax(optax.lion, learning_rate=1e-4)`` has every argument of ``optax.lion`` as a
    hyper-parameter, which ``apply_gradient(grads, learning_rate=...)`` overrides for one step.
    ``from_optax(tx)`` has the hyper-parameters that ``optax.inject_hyperparams`` made settable in
    ``tx``. In both cases, ``state.param_states`` of an optimizer is the state of the
    transformation. Any other override is an extra argument: ``apply_gradient(grads, value=loss)``.
    The definition may be a part of a MultiOptimizer.

    Args:
      tx: a transformation, or a function that makes one.
      **hyper_params: the defaults: arguments for the function, or values for the hyper-parameters
        in the state of the transformation. A learning rate may also be given with every step only.

    Raises:
      TypeError: there is no such hyper-parameter, a hyper-parameter without a default is missing,
        or ``tx`` is neither transformation nor function.
      ValueError: the learning rate is a schedule.
    """
    if isinstance(tx, optax.GradientTransformation):
        return FromOptax(tx, hyper_params)
    if not callable(tx):
        raise TypeError(
            "`from_optax` takes an optax transformation, or a function that makes one such as"
            f" `optax.adam`, not {type(tx)}."
        )
    return FromOptax(tx, _arguments_of(tx, hyper_params))


class FromOptax(OptimizerDef):
    """A definition whose ``param_states`` are the state of an optax transformation.

    Args:
      source: the transformation, or the function that makes it out of the hyper-parameters.
      hyper_params: the default hyper-parameters by name.
    """

    has_param_states: ClassVar[bool] = False
    multi_optimizer: ClassVar[type[Any]] = OptaxMultiOptimizer

    def __init__(self, source: TransformationSource, hyper_params: Mapping[str, Any]) -> None:
        self._source = source
        super().__init__(_with_fields(hyper_params))

    def warn_of_removal(self) -> None:
        """Do nothing: Flax had no such definition, and so removed none."""

    def overridden_hyper_params(
        self, hyper_params: HyperParams, overrides: Mapping[str, Any]
    ) -> HyperParams:
        """These hyper-parameters with overrides, and with extra arguments for the transformation.

        Unknown names are accepted here. The state and a step tell which names are known.
        """
        return _with_fields(hp.fields_of(hyper_params) | dict(overrides))

    def normalise(self, hyper_params: HyperParams) -> HyperParams:
        """These hyper-parameters unchanged.

        Raises:
          AssertionError: the function takes a learning rate, and there is none.
        """
        if not isinstance(self._source, optax.GradientTransformation):
            created = f"from_optax({_name(self._source)}, learning_rate=...)"
            hp.refuse_missing_rate("The definition", created, hp.fields_of(hyper_params))
        return hyper_params

    def init_state(self, params: PyTree) -> OptimizerState:
        """The state of the transformation before the first step.

        Raises:
          TypeError: a default is given for a hyper-parameter that the state does not have.
        """
        tx, values = self._transformation(self.hyper_params, params)
        opt_state = tx.init(params)
        self.refuse_unknown(values, opt_state)
        return OptimizerState(jnp.asarray(0, jnp.int32), injected.with_values(opt_state, values))

    def apply_gradient(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, grads: PyTree
    ) -> tuple[PyTree, OptimizerState]:
        """One step of the transformation, with these hyper-parameters and extra arguments.

        Raises:
          AssertionError: there is no learning rate.
          TypeError: an override is neither in the state of the transformation nor an extra argument
            that the transformation takes.
          ValueError: the gradients do not fit the parameters.
        """
        leaves, treedef = jax.tree.flatten(params)
        gradients = gradient_leaves(params, grads)
        floats = [leaf for leaf, _ in map(as_floats, leaves, gradients)]
        params = jax.tree.unflatten(treedef, floats)
        grads = jax.tree.unflatten(treedef, gradients)
        # A restored state holds numpy arrays, which would not follow jax's rules of dtypes.
        before = jax.tree.map(jnp.asarray, state.param_states)
        hyper_params, extra_args = self._separate(self.normalise(hyper_params), before)
        tx, values = self._transformation(hyper_params, params)
        self.refuse_unknown(ignored(self, tx, grads, before, params, extra_args), before)
        updates, after = update(
            tx, grads, injected.with_values(before, values), params, **extra_args
        )
        # An override holds for this step only.
        after = injected.with_values_of(after, before)
        return optax.apply_updates(params, updates), OptimizerState(
            step_count(state.step) + 1, after
        )

    def state_axes(
        self, params: PyTree, state: OptimizerState, param_axes: PyTree
    ) -> OptimizerState:
        """The axes of the state: those of its parameter for an array, none without a parameter."""
        axes = sharding.of_opt_state(state.param_states, params, param_axes)
        return OptimizerState(PartitionSpec(), axes)

    def to_transformation(
        self, hyper_params: HyperParams, params: PyTree
    ) -> optax.GradientTransformationExtraArgs:
        """The transformation, starting from these hyper-parameters."""
        hyper_params = self.normalise(hyper_params)
        tx, _ = self._transformation(self.hyper_params, params)
        self.refuse_unknown(self._set_values(hyper_params), jax.eval_shape(tx.init, params))
        tx, values = self._transformation(hyper_params, params, inject_arrays=False)

        def init(params: PyTree) -> PyTree:
            return injected.with_values(tx.init(params), values)

        return optax.GradientTransformationExtraArgs(init, functools.partial(update, tx))

    def to_opt_state(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, inject: bool = True
    ) -> tuple[optax.GradientTransformation, PyTree]:
        """The transformation, and its state, which holds these hyper-parameters in any case."""
        hyper_params = self.normalise(hyper_params)
        self.refuse_unknown(self._set_values(hyper_params), state.param_states)
        tx, values = self._transformation(hyper_params, params)
        known = FromDefinition.of(tx, self, hyper_params, params, inject=inject)
        return known, injected.with_values(state.param_states, values)

    def from_opt_state(self, params: PyTree, step: Leaf, opt_state: PyTree) -> OptimizerState:
        """The state of an optimizer with the state of the transformation, unchanged, in it.

        Raises:
          ValueError: the optax state belongs to another transformation.
        """
        tx, _ = self._transformation(self.hyper_params, params)
        expected: PyTreeDef = jax.tree.structure(jax.eval_shape(tx.init, params))
        if expected != jax.tree.structure(opt_state):
            raise ValueError(
                "The TrainState does not belong to this definition: its `opt_state` has another"
                f" structure. Expected {expected}, found {jax.tree.structure(opt_state)}. Give the"
                " definition whose `to_train_state()` made the TrainState."
            )
        return OptimizerState(jnp.asarray(step, jnp.int32), opt_state)

    def without_ignored(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, grads: PyTree
    ) -> tuple[HyperParams, list[str]]:
        """The hyper-parameters and extra arguments that a step takes, and the names of the others.

        Args:
          hyper_params: the hyper-parameters of a step, with its extra arguments.
          params: the parameters.
          state: the state before the step.
          grads: the gradients; None without a step, which has no extra arguments.
        """
        known, extra_args = self._separate(hyper_params, state.param_states)
        unknown = [*extra_args]
        if unknown and grads is not None:
            tx, _ = self._transformation(self.normalise(known), params)
            unknown = ignored(self, tx, grads, state.param_states, params, extra_args)
        if not unknown:
            return hyper_params, unknown
        taken = {name: extra_args[name] for name in extra_args if name not in unknown}
        return _with_fields(hp.fields_of(known) | taken), unknown

    def _set_values(self, hyper_params: HyperParams) -> dict[str, Any]:
        """The arguments of the function, or the values for a state, which are not None."""
        values = hp.fields_of(hyper_params)
        if isinstance(self._source, optax.GradientTransformation):
            return {name: value for name, value in values.items() if value is not None}
        return values

    def _known(self, opt_state: PyTree) -> Collection[str]:
        """The names of the hyper-parameters: the arguments of the function, or those in a state."""
        if isinstance(self._source, optax.GradientTransformation):
            return injected.names(opt_state)
        return hp.fields_of(self.hyper_params)

    def refuse_unknown(self, names: Iterable[str], opt_state: PyTree) -> None:
        """Raise a TypeError if one of the names is no hyper-parameter."""
        known = self._known(opt_state)
        unknown = [name for name in names if name not in known]
        if not unknown:
            return
        if not isinstance(self._source, optax.GradientTransformation):
            hp.refuse_unknown(_name(self._source), unknown, [*known])
        raise TypeError(
            f"The transformation has no hyper-parameter {unknown[0]!r} in its state, only"
            f" {', '.join(known) or 'none at all'}. Make the transformation with"
            " `optax.inject_hyperparams`, or give the function that makes it, such as"
            f" `from_optax(optax.adam, {unknown[0]}=...)`."
        )

    def _separate(
        self, hyper_params: HyperParams, opt_state: PyTree
    ) -> tuple[HyperParams, dict[str, Any]]:
        """The hyper-parameters of a step without its extra arguments, and the extra arguments."""
        known, values = self._known(opt_state), self._set_values(hyper_params)
        extra_args = {name: value for name, value in values.items() if name not in known}
        return _with_fields({name: values[name] for name in values if name in known}), extra_args

    def _transformation(
        self, hyper_params: HyperParams, params: PyTree, inject_arrays: bool = True
    ) -> tuple[optax.GradientTransformation, dict[str, Any]]:
        """The transformation, and the hyper-parameters to set in its state."""
        source, values = self._source, self._set_values(hyper_params)
        if isinstance(source, optax.GradientTransformation):
            return source, values
        # Of the arguments of a function, only the learning rate is in the state.
        rate = values.get("learning_rate")
        names = ["learning_rate"] if "learning_rate" in values else []
        if names and rate is None:
            hyper_params = hyper_params.replace(learning_rate=0.0)
        elif not inject_arrays and hp.is_array(rate):
            names = []
        tx = hp.inject(
            lambda values: source(**hp.fields_of(values)),
            hyper_params,
            names,
            jax.tree.leaves(params),
        )
        return tx, dict.fromkeys(names, rate) if rate is not None else {}


def _with_fields(values: Mapping[str, Any]) -> HyperParams:
    """A dataclass with these hyper-parameters."""
    return _class_of(tuple(values))(**values)


@functools.cache
def _class_of(names: tuple[str, ...]) -> type:
    """The dataclass with these fields: the same class for the same names, to compare values."""
    annotations = {"__annotations__": dict.fromkeys(names, Any), "__module__": __name__}
    return struct.dataclass(type("OptaxHyperParams", (), annotations))


def _name(make: Factory) -> str:
    return getattr(make, "__qualname__", "the function")


def _arguments_of(make: Factory, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of a function by name, with defaults; a missing learning rate is None."""
    parameters = inspect.signature(make).parameters.values()
    if not any(each.kind is each.VAR_KEYWORD for each in parameters):
        hp.refuse_unknown(_name(make), arguments, [each.name for each in parameters])
    named = [
        each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    values = {each.name: each.default for each in named} | dict(arguments)
    if values.get("learning_rate") is inspect.Parameter.empty:
        values["learning_rate"] = None
    missing = [name for name, value in values.items() if value is inspect.Parameter.empty]
    if missing:
        raise TypeError(
            f"{_name(make)} needs {', '.join(missing)}: call `from_optax(..., {missing[0]}=...)`."
        )
    if callable(values.get("learning_rate")):
        raise ValueError(
            "A schedule cannot be overridden for one step. Give its value with each step,"
            " `optimizer.apply_gradient(grads, learning_rate=schedule(step))`, or wrap the whole"
            f" transformation, `from_optax({_name(make)}(schedule))`."
        )
    return values
