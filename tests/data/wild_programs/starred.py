# Arguments of `create` that are not written out.
from arrays import gradients, parameters
from flax import optim


def run():
    given = [parameters()]
    optimizer = optim.GradientDescent(0.5).create(*given)
    return optimizer.apply_gradient(gradients(optimizer.target)).target
