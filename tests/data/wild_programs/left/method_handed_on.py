# A method that is not called where it stands.
from arrays import gradients, parameters
from flax import optim


def run():
    optimizer = optim.GradientDescent(0.5).create(parameters())
    apply = optimizer.apply_gradient
    return apply(gradients(optimizer.target)).target
