# Hyper-parameters that are assigned to for all steps that follow.
from arrays import gradients, parameters
from flax import optim


def run():
    definition = optim.Adam(learning_rate=0.1)
    optimizer = definition.create(parameters())
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    definition.hyper_params = definition.hyper_params.replace(learning_rate=0.01)
    optimizer = optimizer.apply_gradient(gradients(optimizer.target))
    return optimizer.target
