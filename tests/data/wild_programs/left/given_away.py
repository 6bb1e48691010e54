# An optimizer that something which is not read takes apart.
import operator

from arrays import gradients, parameters
from flax import optim


def run():
    optimizer = optim.GradientDescent(0.25).create(parameters())
    get_target = operator.attrgetter("target")
    optimizer = optimizer.apply_gradient(gradients(get_target(optimizer)))
    return get_target(optimizer)
