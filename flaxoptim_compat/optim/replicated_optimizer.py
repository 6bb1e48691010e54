"""The definition of an optimizer on several devices, which ``Optimizer.replicate`` makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import optax
from flax import jax_utils

from flaxoptim_compat.bridge.definition import HyperParams, Leaf, PyTree
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.conversion import FromDefinition
from flaxoptim_compat.optim.removal import REMOVED_IN
from flaxoptim_compat.optim.state import OptimizerState


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
        """The other definition, which gets the averaged gradients."""
        return self.optimizer_def

    def shown(self, hyper_params: HyperParams) -> str:
        """The text of ``repr`` for these hyper-parameters: the class with the other definition."""
        return f"{type(self).__name__}({self.optimizer_def.shown(hyper_params)})"

    def removal_notice(self) -> str:
        """The text to write in place of ``Optimizer.replicate``."""
        return (
            f"Optimizer.replicate was removed from Flax in {REMOVED_IN}. Exactly the same:"
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

    def to_opt_state(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, inject: bool = True
    ) -> tuple[FromDefinition, PyTree]:
        """The transformation of the other definition, with averaged gradients, and its state."""
        tx, opt_state = self.optimizer_def.to_opt_state(hyper_params, params, state, inject)

        def update(grads: PyTree, *args: Any, **kwargs: Any) -> tuple[PyTree, PyTree]:
            updates_and_state: tuple[PyTree, PyTree] = tx.update(
                jax.tree.map(self._cross_replica_mean, grads), *args, **kwargs
            )
            return updates_and_state

        averaged = optax.GradientTransformationExtraArgs(tx.init, update)
        return FromDefinition.of(averaged, self, hyper_params, params, inject=inject), opt_state

    def from_opt_state(self, params: PyTree, step: Leaf, opt_state: PyTree) -> OptimizerState:
        """The state of the other definition."""
        return self.optimizer_def.from_opt_state(params, step, opt_state)

    def update_hyper_params(self, **hyper_param_overrides: Any) -> HyperParams:
        """The hyper-parameters of one step of the other definition."""
        return self.optimizer_def.update_hyper_params(**hyper_param_overrides)

    def state_dict(self, target: PyTree, state: OptimizerState) -> PyTree:
        """The state dict of the first copy only."""
        return jax.tree.map(lambda leaf: leaf[0], self.optimizer_def.state_dict(target, state))

    def restore_state(
        self, target: PyTree, opt_state: PyTree, state_dict: PyTree
    ) -> tuple[PyTree, OptimizerState]:
        """Target and state with the values of a single copy, copied to every device."""
        # The structure and the shapes of a single copy are enough to restore into.
        target, opt_state = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), (target, opt_state)
        )
        # Copied last: the upgrade of an older layout computes with a single copy.
        restored = self.optimizer_def.restore_state(target, opt_state, state_dict)
        return jax_utils.replicate(restored, devices=self.devices)  # type: ignore[no-any-return]


OptimizerDef.replicated_optimizer = ReplicatedOptimizer
