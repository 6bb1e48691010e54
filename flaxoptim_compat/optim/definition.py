"""What an optimizer does, without the parameters it does it to."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import serialization, struct

from flaxoptim_compat.bridge import checkpoints, step
from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.equality import same
from flaxoptim_compat.bridge.masks import Assignment
from flaxoptim_compat.bridge.trees import leaves_like, with_dtype_of

if TYPE_CHECKING:
    from flaxoptim_compat.optim.optimizer import Optimizer


@struct.dataclass
class OptimizerState:
    """The number of steps done and the state of every parameter, in the structure of the target."""

    step: Any
    param_states: Any

    # Up to Flax 0.3.2 a MultiOptimizer had a list of states, all with the same step, and programs
    # read optimizer.state[0].step.
    def __getitem__(self, index: int) -> OptimizerState:
        del index
        return self

    # Without this, __getitem__ would make a state iterable without end.
    __iter__ = None


class LegacyState(NamedTuple):
    """The optax state of a definition that runs its own per-parameter code."""

    count: Any
    param_states: Any


class OptimizerDef:
    """Base class of all definitions: the hyper-parameters, and how a gradient is applied.

    A subclass either overrides ``init_param_state`` and ``apply_param_gradient``, as with Flax, and
    then its own code runs for every parameter; or it names an optax chain in ``optax_chain`` and
    says in ``optax_fields`` where the chain keeps the fields of its per-parameter state.

    Args:
      hyper_params: a ``flax.struct.dataclass`` instance with the default hyper-parameters.
    """

    # {type of optax state: {its field: field of the per-parameter state}}
    optax_fields: ClassVar[Mapping[type, Mapping[str, str]]] = {
        LegacyState: {"param_states": "param_states"}
    }
    param_state_class: ClassVar[type | None] = None

    def __init__(self, hyper_params: Any) -> None:
        self.hyper_params = hyper_params

    # The legacy interface.

    def apply_param_gradient(
        self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
    ) -> tuple[Any, Any]:
        """Apply the gradient of one parameter; returns the new parameter and its new state."""
        if not self.has_chain():
            raise NotImplementedError(
                f"{type(self).__name__} defines neither apply_param_gradient nor optax_chain."
            )
        new_param, _, new_state = self._step(hyper_params, param, step, state, grad)
        return new_param, new_state

    def init_param_state(self, param: Any) -> Any:
        """The state of one parameter before the first step."""
        raise NotImplementedError(f"{type(self).__name__} does not define init_param_state.")

    def apply_gradient(
        self, hyper_params: Any, params: Any, state: Any, grads: Any
    ) -> tuple[Any, OptimizerState]:
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
        new_params, count, param_states = self._step(
            hyper_params, params, state.step, state.param_states, grads
        )
        return new_params, OptimizerState(count, param_states)

    def init_state(self, params: Any) -> OptimizerState:
        """The state of a tree of parameters before the first step."""
        param_states = jax.tree.map(self.init_param_state, params)
        return OptimizerState(jnp.asarray(0, dtype=jnp.int32), param_states)

    def update_hyper_params(self, **hyper_param_overrides: Any) -> Any:
        """The hyper-parameters of one step: the defaults with these overrides.

        Args:
          **hyper_param_overrides: single values by name; ``hyper_params=`` replaces all of them.

        Raises:
          TypeError: an override is not known; the message names those that are.
        """
        hyper_params = hyper_param_overrides.pop("hyper_params", self.hyper_params)
        return self.override(hyper_params, hyper_param_overrides)

    def create(self, target: Any, focus: Any = None) -> Optimizer:
        """An optimizer of this definition for a target.

        Args:
          target: the parameters: any tree, down to a single array.
          focus: a traversal that selects the leaves to optimize; the others stay as they are.
        """
        from flaxoptim_compat.optim.multi_optimizer import MultiOptimizer
        from flaxoptim_compat.optim.optimizer import Optimizer

        definition = MultiOptimizer((focus, self)) if focus else self
        return Optimizer(definition, definition.init_state(target), target)

    def state_dict(self, target: Any, state: Any) -> Any:
        """Target and state as nested dicts of arrays, the form that checkpoints hold."""
        return serialization.to_state_dict(
            {
                "target": serialization.to_state_dict(target),
                "state": serialization.to_state_dict(state),
            }
        )

    def restore_state(self, opt_target: Any, opt_state: Any, state_dict: Any) -> tuple[Any, Any]:
        """Target and state with the values of a state dict, of this or an older layout.

        Args:
          opt_target: gives the structure and the shapes of the target.
          opt_state: gives those of the state.
          state_dict: what ``state_dict`` returned, here or in Flax.

        Raises:
          ValueError: an entry is missing, unexpected or of another shape; the message names it.
        """
        entries = checkpoints.expect_entries(state_dict, ("target", "state"))
        entries = checkpoints.fields_by_name(entries)
        target = checkpoints.restore(opt_target, entries["target"], "target")
        upgraded = self.upgrade_state_dict(target, entries["state"])
        return target, checkpoints.restore(opt_state, upgraded, "state")

    # How a definition runs on optax.

    def optax_chain(self, hyper_params: Any) -> optax.GradientTransformation:
        """The optax transformation that does what the definition does, with these hyper-parameters.

        Unless a class says it in optax's own words, this runs the per-parameter code. Optax then
        adds the difference to the parameter, which can move its last bit.
        """

        def init(params: Any) -> LegacyState:
            state = self.init_state(params)
            return LegacyState(state.step, state.param_states)

        def update(grads: Any, state: LegacyState, params: Any = None) -> tuple[Any, LegacyState]:
            legacy = OptimizerState(state.count, state.param_states)
            new_params, new_state = self.apply_gradient(hyper_params, params, legacy, grads)
            updates = jax.tree.map(lambda new, old: new - old, new_params, params)
            return updates, LegacyState(new_state.step, new_state.param_states)

        return optax.GradientTransformation(init, update)

    def has_chain(self) -> bool:
        """Whether the chain is the last word: no subclass overrides the per-parameter code."""
        order = type(self).__mro__
        chain = next(cls for cls in order if "optax_chain" in vars(cls))
        code = next(cls for cls in order if "apply_param_gradient" in vars(cls))
        return chain is not OptimizerDef and order.index(chain) <= order.index(code)

    def on_optax(self) -> bool:
        """Whether a step may go through the chain without asking ``apply_gradient``."""
        return self.has_chain() and type(self).apply_gradient is OptimizerDef.apply_gradient

    def compiles(self) -> bool:
        """Whether no code of the user's runs in a step, so that it can be compiled unasked."""
        return self.has_chain()

    def to_optax_fields(
        self, states: Sequence[Any], place: Callable[[Sequence[Any]], Any]
    ) -> dict[type, dict[str, Any]]:
        """The trees that go into each optax state, out of the per-parameter states.

        Args:
          states: one per parameter.
          place: makes a tree of one value per parameter.
        """
        if LegacyState in self.optax_fields:
            return {LegacyState: {"param_states": place(states)}}
        return {
            kind: {
                field: place([getattr(state, legacy) for state in states])
                for field, legacy in names.items()
            }
            for kind, names in self.optax_fields.items()
        }

    def from_optax_fields(
        self,
        nodes: Mapping[type, Any],
        states: Sequence[Any],
        pick: Callable[[Any], Sequence[Any]],
    ) -> list[Any]:
        """The per-parameter states, out of the optax states.

        Args:
          nodes: the optax states by type.
          states: the states before, for what optax does not keep.
          pick: takes a tree to one value per parameter, the inverse of ``place``.
        """
        if LegacyState in self.optax_fields:
            return list(pick(nodes[LegacyState].param_states))
        columns = {
            legacy: pick(getattr(nodes[kind], field))
            for kind, names in self.optax_fields.items()
            if kind in nodes
            for field, legacy in names.items()
        }
        if self.param_state_class is None:
            return list(states)
        return [
            self._with_fields(state, {name: column[row] for name, column in columns.items()})
            for row, state in enumerate(states)
        ]

    def _with_fields(self, state: Any, values: Mapping[str, Any]) -> Any:
        assert self.param_state_class is not None
        fields = {}
        for field in dataclasses.fields(self.param_state_class):
            old = getattr(state, field.name)
            new = values.get(field.name)
            fields[field.name] = old if new is None else with_dtype_of(new, old)
        return self.param_state_class(**fields)

    def apply_directly(
        self, hyper_params: Any, params: Any, state: Any, grads: Any
    ) -> tuple[Any, OptimizerState]:
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
        self, hyper_params: Any, leaves: Any, step: Any, states: Any, grads: Any
    ) -> tuple[Any, Any]:
        """Apply gradients to a list of parameters, through whatever the subclass overrides."""
        state = OptimizerState(step, tuple(states))
        new_leaves, new_state = self.apply_gradient(
            hyper_params, tuple(leaves), state, tuple(grads)
        )
        return new_leaves, new_state.param_states

    def assign(self, hyper_params: Any, params: Any, eligible: Sequence[int]) -> list[Assignment]:
        """Which definition moves which of the eligible leaves: here, this one moves them all."""
        del params
        return [Assignment(self, hyper_params, tuple(eligible))]

    def _step(
        self, hyper_params: Any, params: Any, count: Any, param_states: Any, grads: Any
    ) -> tuple[Any, Any, Any]:
        return step.apply_gradient(self, hyper_params, params, count, param_states, grads)

    # Hyper-parameters and identity.

    def override(self, hyper_params: Any, overrides: Mapping[str, Any]) -> Any:
        """These hyper-parameters with overrides, all of which must be known."""
        return hp.replace_known(type(self).__name__, hyper_params, overrides)

    def normalise(self, hyper_params: Any, require_rate: bool = True) -> Any:
        """These hyper-parameters with Python numbers as floats, and certainly a learning rate."""
        if not self.has_chain():
            return hyper_params
        return hp.normalise(type(self).__name__, hyper_params, require_rate)

    def structure(self) -> tuple[Any, ...]:
        """Everything but the hyper-parameters that decides what a step does."""
        rest = {name: value for name, value in vars(self).items() if name != "hyper_params"}
        return (type(self), rest)

    def settings(self) -> tuple[Any, ...]:
        """A snapshot of the hyper-parameters, those of definitions inside this one included."""
        mine = getattr(self, "hyper_params", None)
        return (tuple(mine) if isinstance(mine, list) else mine, *map(_settings, self._parts()))

    def with_settings(self, settings: tuple[Any, ...]) -> OptimizerDef:
        """A copy of this definition with the hyper-parameters of a snapshot."""
        other = copy.copy(self)
        for (name, value), old in zip(self._parts(), settings[1:], strict=True):
            if isinstance(value, OptimizerDef):
                setattr(other, name, value.with_settings(old))
            else:
                parts = [part.with_settings(each) for part, each in zip(value, old, strict=True)]
                setattr(other, name, tuple(parts))
        mine = settings[0]
        other.hyper_params = list(mine) if type(mine) is tuple else mine
        return other

    def _parts(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in vars(self).items() if _holds_definitions(value)]

    def upgrade_state_dict(self, target: Any, state_dict: Any) -> Any:
        """Bring the state dict of an older Flax to the layout of Flax 0.5.3."""
        return checkpoints.upgrade(
            target, state_dict, lambda index, param, entry: self.upgrade_param_state(param, entry)
        )

    def upgrade_param_state(self, param: Any, entry: Any) -> Any:
        """Bring the state of one parameter to the layout of Flax 0.5.3."""
        del param
        return entry

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same(vars(self), vars(other))

    def __hash__(self) -> int:
        return hash(type(self))


def _holds_definitions(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(isinstance(each, OptimizerDef) for each in value)
    return isinstance(value, OptimizerDef)


def _settings(part: tuple[str, Any]) -> tuple[Any, ...]:
    value = part[1]
    if isinstance(value, OptimizerDef):
        return value.settings()
    return tuple(each.settings() for each in value)
