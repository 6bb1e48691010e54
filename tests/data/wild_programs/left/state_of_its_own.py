# A definition with a state that has no `param_states`, of which no TrainState can be made.
import flax
import jax
import jax.numpy as jnp
from arrays import gradients, parameters
from flax import optim


@flax.struct.dataclass
class Average:
    step: int
    mean: dict


class Signs(optim.OptimizerDef):
    """The sign of an average."""

    def __init__(self, learning_rate):
        super().__init__(learning_rate)

    def init_state(self, params):
        return Average(0, jax.tree_util.tree_map(jnp.zeros_like, params))

    def apply_gradient(self, hyper_params, params, state, grads):
        mean = jax.tree_util.tree_map(lambda m, g: 0.9 * m + 0.1 * g, state.mean, grads)
        params = jax.tree_util.tree_map(lambda p, m: p - hyper_params * jnp.sign(m), params, mean)
        return params, Average(state.step + 1, mean)


def run():
    optimizer = Signs(0.1).create(parameters())
    for _ in range(3):
        optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    return optimizer.target
