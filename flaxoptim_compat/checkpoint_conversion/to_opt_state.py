"""An Optimizer of flax.optim in a checkpoint as a TrainState with an optax transformation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from flax import serialization

from flaxoptim_compat.checkpoint_contents.fields import OPTAX_STATES
from flaxoptim_compat.checkpoint_contents.optax_states import moments
from flaxoptim_compat.checkpoint_contents.recognise import FoundOptimizer
from flaxoptim_compat.checkpoint_conversion.states import refuse_copies
from flaxoptim_compat.checkpoint_conversion.stored_trees import plain, small_array
from flaxoptim_compat.checkpoint_conversion.to_legacy import refuse_scaled_momentum
from flaxoptim_compat.checkpoint_files.stored import CheckpointError
from flaxoptim_compat.checkpoint_files.trees import TreePath, at


def optax_dict(optimizer: FoundOptimizer, params: Any, tx: Any) -> dict[str, Any]:
    """The state dict of a TrainState with the transformation ``tx`` and the old moments.

    Raises:
      CheckpointError: a moment has no place in the state of ``tx``, or a place has no moment.
    """
    state = plain(optimizer.node["state"])
    if optimizer.parts_unknown or any(
        kind.weight_norm or not kind.names for kind in optimizer.kinds
    ):
        raise CheckpointError(
            "an optax transformation can take the moments of plain optimizers only. Let the"
            " function of --definition return the legacy definition."
        )
    refuse_copies(state["step"])
    step = np.asarray(state["step"], np.int32) if isinstance(state["step"], int) else state["step"]
    filling = _Filling(step, state.get("param_states", {}))
    # Values that are no moments, such as a learning rate, do not depend on the parameters.
    small = tx.init(jax.tree.map(small_array, params))
    fresh, shapes = map(serialization.to_state_dict, (small, jax.eval_shape(tx.init, params)))
    opt_state = filling.filled(fresh, shapes, ())
    filling.refuse_unused([parameter.path for parameter in optimizer.parameters])
    refuse_scaled_momentum(moments(opt_state), opt_state)
    return {"step": step, "params": params, "opt_state": opt_state}


class _Filling:
    """Fills a fresh optax state with moments and the step.

    Args:
      step: the number of steps done.
      param_states: the legacy states of the parameters.
    """

    def __init__(self, step: Any, param_states: Mapping[str, Any]) -> None:
        self._step = step
        self._param_states = param_states
        self._used: set[TreePath] = set()

    def filled(self, node: Any, shapes: Any, path: TreePath) -> Any:
        """The state dict with its moments.

        Args:
          node: the state dict for small parameters, which gives all values that are not moments.
          shapes: the state dict for the real parameters, which gives the shapes of the moments.
          path: the path of both in the state.
        """
        if isinstance(node, Mapping):
            legacy = OPTAX_STATES.get(frozenset(node), {})
            return {
                name: self._moments(legacy[name], shapes[name], (*path, name), ())
                if name in legacy
                else self.filled(child, shapes[name], (*path, name))
                for name, child in node.items()
            }
        if np.shape(shapes) != ():
            raise CheckpointError(
                f"the transformation keeps opt_state/{'/'.join(path)}, which no optimizer of"
                " flax.optim has. Leave out the transformation, or start the optimizer afresh."
            )
        return self._step if path[-1:] == ("count",) else node

    def _moments(self, legacy: str, shapes: Any, path: TreePath, parameter: TreePath) -> Any:
        """The tree of one moment, or its part at a parameter; masked parameters stay masked."""
        if isinstance(shapes, Mapping):
            return {
                name: self._moments(legacy, child, path, (*parameter, name))
                for name, child in shapes.items()
            }
        value = at(self._param_states, (*parameter, legacy))
        if value is None or np.shape(value) != shapes.shape:
            stored = "no array" if value is None else f"an array of shape {np.shape(value)}"
            raise CheckpointError(
                f"the transformation keeps opt_state/{'/'.join((*path, *parameter))} of shape"
                f" {shapes.shape}, and the checkpoint has {stored} for it. Give the transformation"
                " that takes the place of the old optimizer."
            )
        self._used.add((*parameter, legacy))
        return value

    def refuse_unused(self, parameters: list[TreePath]) -> None:
        """Refuse moments without a place, except those that Adafactor does not use."""
        for path in parameters:
            for field, value in (at(self._param_states, path) or {}).items():
                idle = value is None or (field == "m" and np.shape(value) == (1,))
                if not idle and (*path, field) not in self._used:
                    raise CheckpointError(
                        f"the transformation has no place for {field} of {'/'.join(path)}. Give the"
                        " transformation that takes the place of the old optimizer."
                    )
