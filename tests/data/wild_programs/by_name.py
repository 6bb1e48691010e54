# Classes that are looked up by their names.
import flax
import jax
from arrays import gradients, parameters
from flax import optim


def make(name, **settings):
    return getattr(flax.optim, name)(**settings)


@jax.jit
def step_of(optimizer, rate):
    return optimizer.apply_gradient(gradients(optimizer.target), learning_rate=rate)


def run():
    found = []
    for name, settings in (("Adam", {"beta1": 0.8}), ("LAMB", {"weight_decay": 0.1})):
        optimizer = make(name, **settings).create(parameters())
        for number in range(3):
            optimizer = step_of(optimizer, 0.1 / (number + 1))
        found.append(optimizer.target)
    plain = getattr(optim, "GradientDescent")(0.5).create(parameters())
    return found, plain.apply_gradient(gradients(plain.target)).target
