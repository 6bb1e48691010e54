# Stands for: the optimizer module of vision transformer repositories, written on OptimizerDef.
from typing import Any, Optional

import flax
import jax
import jax.numpy as jnp
import numpy as np


@flax.struct.dataclass
class HyperParams:
    learning_rate: np.ndarray
    beta: np.ndarray
    grad_norm_clip: Optional[float]


@flax.struct.dataclass
class State:
    momentum: np.ndarray


class Optimizer(flax.optim.OptimizerDef):
    """Momentum kept in half precision, after clipping of the gradients by their global norm."""

    def __init__(
        self,
        learning_rate: Optional[float] = None,
        beta: float = 0.9,
        dtype: Any = "bfloat16",
        grad_norm_clip: Optional[float] = None,
    ):
        hyper_params = HyperParams(learning_rate, beta, grad_norm_clip)
        super(Optimizer, self).__init__(hyper_params)
        self.dtype = {"bfloat16": jnp.bfloat16, "float32": jnp.float32}[dtype]

    def init_param_state(self, param):
        return State(jnp.zeros_like(param, dtype=self.dtype))

    def apply_param_gradient(self, step, hyper_params, param, state, grad):
        del step
        assert hyper_params.learning_rate is not None, "no learning rate provided."
        momentum = state.momentum
        new_momentum = hyper_params.beta * momentum + grad
        new_param = param - hyper_params.learning_rate * new_momentum
        return new_param, State(new_momentum.astype(self.dtype))

    def apply_gradient(self, hyper_params, params, state, grads):
        step = state.step
        params_flat, treedef = jax.tree_flatten(params)
        states_flat = treedef.flatten_up_to(state.param_states)
        grads_flat = treedef.flatten_up_to(grads)

        if hyper_params.grad_norm_clip:
            total = jnp.sqrt(sum(jnp.vdot(g, g) for g in grads_flat))
            factor = jnp.minimum(1.0, hyper_params.grad_norm_clip / total)
            grads_flat = [factor * g for g in grads_flat]

        out = [
            self.apply_param_gradient(step, hyper_params, param, state, grad)
            for param, state, grad in zip(params_flat, states_flat, grads_flat)
        ]
        new_params, new_states = list(zip(*out)) if out else ((), ())
        new_params = jax.tree_unflatten(treedef, new_params)
        new_states = jax.tree_unflatten(treedef, new_states)
        return new_params, flax.optim.OptimizerState(step + 1, new_states)
