# Definitions of one's own.
import flax
import jax
import jax.numpy as jnp
from arrays import gradients, parameters
from flax import struct
from flax.optim import OptimizerDef


@struct.dataclass
class SignHyperParams:
    """The only one."""

    learning_rate: float


@struct.dataclass
class SignState:
    """The last direction."""

    last: jnp.ndarray


class Sign(OptimizerDef):
    """Steps of one size, and of half of it where the direction changes."""

    def __init__(self, learning_rate=None):
        super().__init__(SignHyperParams(learning_rate))

    def init_param_state(self, param):
        return SignState(jnp.zeros_like(param))

    def apply_param_gradient(self, step, hyper_params, param, state, grad):
        direction = jnp.sign(grad)
        size = jnp.where(direction * state.last < 0, 0.5, 1.0)
        return param - hyper_params.learning_rate * size * direction, SignState(direction)


class Clipped(flax.optim.Momentum):
    """Momentum of gradients that are never large."""

    def apply_param_gradient(self, step, hyper_params, param, state, grad):
        return super().apply_param_gradient(
            step, hyper_params, param, state, jnp.clip(grad, -0.5, 0.5)
        )


@jax.jit
def step_of(optimizer):
    return optimizer.apply_gradient(gradients(optimizer.target))


def run():
    found = []
    for definition in (Sign(0.3), Clipped(learning_rate=0.1, beta=0.5)):
        optimizer = definition.create(parameters())
        for _ in range(3):
            optimizer = step_of(optimizer)
        found.append((optimizer.target, optimizer.state.step))
    return found
