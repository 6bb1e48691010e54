# Receivers and arguments that need their brackets, of an optimizer that has a text in optax.
import jax
from arrays import gradients, parameters
from flax import optim


def step_of(optimizer=None, other=None):
    if (new := (optimizer or other).apply_gradient(gradients(parameters()))).state.step > 1:
        return new
    grads = gradients((other or optimizer).target)
    return (optimizer if optimizer else other).apply_gradient(grads := jax.tree_map(abs, grads))


def run():
    optimizer = (optim.Momentum(0.1)).create(start := parameters())
    for _ in range(3):
        optimizer = step_of(None, optimizer) if (optimizer).state.step else step_of(optimizer)
    text = f"é {optimizer.state.step:>{3}} {jax.tree_map(float, optimizer.target['scale'][0])}"
    return optimizer.target, int(-(optimizer or None).state.step), start, len(text)
