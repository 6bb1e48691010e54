# An optimizer with a class of the program's own.
import jax.numpy as jnp
from arrays import gradients, parameters
from flax import optim, struct


@struct.dataclass
class Averaged(optim.Optimizer):
    def norm(self):
        return jnp.linalg.norm(self.target["scale"])


def run():
    definition = optim.GradientDescent(0.1)
    optimizer = Averaged(definition, definition.init_state(parameters()), parameters())
    optimizer = optim.Optimizer.apply_gradient(optimizer, gradients(optimizer.target))
    return optimizer.norm(), optimizer.target
