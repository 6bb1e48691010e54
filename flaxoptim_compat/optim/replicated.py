"""The definition inside an optimizer made by ``Optimizer.replicate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from flax import jax_utils

from flaxoptim_compat.optim.definition import OptimizerDef
from flaxoptim_compat.optim.removal import REMOVED_IN


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
        devices: Sequence[Any] | None = None,
        axis_name: str = "batch",
    ) -> None:
        self.optimizer_def = optimizer_def
        self.devices = jax.local_devices() if devices is None else devices
        self.axis_name = axis_name
        super().__init__(optimizer_def.hyper_params)

    def removal_notice(self) -> str:
        """What to write in place of ``Optimizer.replicate``."""
        return (
            f"Optimizer.replicate was removed from Flax in {REMOVED_IN}. Exactly the same:"
            " flax.jax_utils.replicate(optimizer), and in each step"
            f" grads = jax.lax.pmean(grads, axis_name={self.axis_name!r})"
        )

    def init_state(self, params: Any) -> Any:
        """The state of the other definition."""
        return self.optimizer_def.init_state(params)

    def _cross_replica_mean(self, grad: Any) -> Any:
        return jax.lax.pmean(grad, axis_name=self.axis_name)

    def apply_gradient(self, hyper_params: Any, params: Any, state: Any, grads: Any) -> Any:
        """Average the gradients and apply them."""
        grads = jax.tree.map(self._cross_replica_mean, grads)
        return self.optimizer_def.apply_gradient(hyper_params, params, state, grads)

    def update_hyper_params(self, **hyper_param_overrides: Any) -> Any:
        """The hyper-parameters of one step of the other definition."""
        return self.optimizer_def.update_hyper_params(**hyper_param_overrides)

    def state_dict(self, target: Any, state: Any) -> Any:
        """The state dict of the first copy only."""
        return jax.tree.map(lambda leaf: leaf[0], self.optimizer_def.state_dict(target, state))

    def restore_state(self, target: Any, opt_state: Any, state_dict: Any) -> Any:
        """Restore a single copy onto every device."""
        # Of the single copy only the structure and the shapes are asked for.
        target, opt_state = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), (target, opt_state)
        )
        # Replicated last: bringing an older layout up to date is arithmetic on single copies.
        restored = self.optimizer_def.restore_state(target, opt_state, state_dict)
        return jax_utils.replicate(restored, devices=self.devices)
