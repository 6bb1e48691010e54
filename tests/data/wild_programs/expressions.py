# Optimizers in the middle of expressions.
import jax
from arrays import gradients, parameters
from flax import optim


def made(fast=None, **settings):
    return (optim.Momentum if fast else optim.Adam)(0.1, **settings).create(parameters())


def step_of(optimizer=None, other=None):
    if (new := (optimizer or other).apply_gradient(gradients(parameters()))).state.step > 1:
        return new
    grads = gradients((other or optimizer).target)
    return (optimizer if optimizer else other).apply_gradient(grads := jax.tree_map(abs, grads))


def stepped(classes):
    for cls in classes:
        optimizer = cls(0.1).create(parameters())
        yield optimizer.apply_gradient(gradients(optimizer.target)).target


def run():
    found = []
    for optimizer in (made(), made(fast=True, beta=0.5)):
        for _ in range(3):
            optimizer = step_of(None, optimizer) if optimizer.state.step else step_of(optimizer)
        print(f"é {optimizer.state.step:>{3}} {optimizer.target['scale']!r}", end="")
        found += [optimizer.target, int(-(optimizer.state.step - 1))]
    return found, list(stepped([optim.GradientDescent, optim.Adam]))
