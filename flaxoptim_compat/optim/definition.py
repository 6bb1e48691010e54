"""What an optimizer does, without the parameters it does it to."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
from flax import serialization
from jax.sharding import PartitionSpec

from flaxoptim_compat.bridge import checkpoints, step
from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.axes import of_state
from flaxoptim_compat.bridge.fitting import Misfit, restore_fitting
from flaxoptim_compat.bridge.trees import leaves_like
from flaxoptim_compat.optim.by_value import ByValue
from flaxoptim_compat.optim.conversion import Convertible
from flaxoptim_compat.optim.removal import Removal
from flaxoptim_compat.optim.state import OptimizerState

if TYPE_CHECKING:
    from flaxoptim_compat.optim.optimizer import Optimizer


class OptimizerDef(Convertible, Removal, ByValue):
    """Base class of all definitions: the hyper-parameters, and how a gradient is applied.

    A subclass either overrides ``init_param_state`` and ``apply_param_gradient``, as with Flax, and
    then its own code runs for every parameter; or it names an optax chain in ``optax_chain`` and
    says in ``optax_fields`` where the chain keeps the fields of its per-parameter state.

    Args:
      hyper_params: a ``flax.struct.dataclass`` instance with the default hyper-parameters.
    """

    # False where the state is one of all parameters together, so that no part can be cut out.
    has_param_states: ClassVar[bool] = True

    def __init__(self, hyper_params: Any) -> None:
        self.hyper_params = hyper_params
        # Last, so that a definition of ours is complete by then.
        self.warn_of_removal()

    def apply_param_gradient(
        self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
    ) -> tuple[Any, Any]:
        """Apply the gradient of one parameter; returns the new parameter and its new state."""
        # Also called by the code of a subclass, through super().
        if not self.names_chain():
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

    def state_axes(self, params: Any, state: Any, param_axes: Any) -> OptimizerState:
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

    def param_state_axes(self, param: Any, state: Any, axes: Any) -> Any:
        """The axes of every array in the state of one parameter, out of the parameter's axes.

        A definition with a state of other shapes than its parameter's may override this.
        """
        return of_state(param, state, axes)

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
        with contextlib.suppress(Misfit):
            restored = restore_fitting({"target": opt_target, "state": opt_state}, entries)
            return restored["target"], restored["state"]
        # Something is different: say what, or take it as an older layout or as axes.
        if checkpoints.holds_axes(entries):
            target = serialization.from_state_dict(opt_target, entries["target"])
            return target, serialization.from_state_dict(opt_state, entries["state"])
        entries = checkpoints.fields_by_name(entries)
        target = checkpoints.restore(opt_target, entries["target"], "target")
        upgraded = self.upgrade_state_dict(target, entries["state"])
        return target, checkpoints.restore(opt_state, upgraded, "state")

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

    def _step(
        self, hyper_params: Any, params: Any, count: Any, param_states: Any, grads: Any
    ) -> tuple[Any, Any, Any]:
        return step.apply_gradient(self, hyper_params, params, count, param_states, grads)

    def override(self, hyper_params: Any, overrides: Mapping[str, Any]) -> Any:
        """These hyper-parameters with overrides, all of which must be known."""
        return hp.replace_known(type(self).__name__, hyper_params, overrides)

    def normalise(self, hyper_params: Any) -> Any:
        """These hyper-parameters with Python numbers as floats, and certainly a learning rate."""
        if not self.names_chain():
            return hyper_params
        return hp.normalise(type(self).__name__, hyper_params)

    def upgrade_state_dict(self, target: Any, state_dict: Any) -> Any:
        """Bring the state dict of an older Flax to the layout of Flax 0.5.3."""
        return checkpoints.upgrade(
            target, state_dict, lambda index, param, entry: self.upgrade_param_state(param, entry)
        )

    def upgrade_param_state(self, param: Any, entry: Any) -> Any:
        """Bring the state of one parameter to the layout of Flax 0.5.3."""
        del param
        return entry


def refuse_as_part(definition: Any, whole: str) -> None:
    """Raise the TypeError of a definition that cannot be a part of another, if it is one."""
    if not getattr(definition, "has_param_states", True):
        raise TypeError(
            "A definition of from_optax has one state for all parameters and cannot be in a"
            f" {whole}, nor be created with a focus. Select in optax instead: from_optax("
            'optax.partition({"train": tx, "frozen": optax.set_to_zero()}, labels)).'
        )
