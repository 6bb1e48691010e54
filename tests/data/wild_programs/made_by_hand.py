# An optimizer without create.
import flax
from arrays import gradients, parameters
from flax.optim import Optimizer


def run():
    definition = flax.optim.Adam(0.1)
    optimizer = Optimizer(definition, definition.init_state(parameters()), parameters())
    return optimizer.apply_gradient(gradients(optimizer.target)).target
