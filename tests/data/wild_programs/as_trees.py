# Optimizers that are mapped, differentiated, and handed out by a context, as any other tree.
import contextlib

import jax
from arrays import gradients, loss_of, parameters
from flax import optim


@contextlib.contextmanager
def training(definition):
    holder = [definition.create(parameters())]
    yield holder
    holder.append("ended")


def run():
    with training(optim.Adam(0.1)) as holder:
        holder[0] = holder[0].apply_gradient(gradients(holder[0].target))
    first = optim.Momentum(0.1).create(parameters())
    later = first.apply_gradient(gradients(first.target))
    mean = jax.tree_multimap(lambda x, y: ((x + y) / 2).astype(x.dtype), first, later)
    mean = mean.apply_gradient(gradients(mean.target))
    plain = optim.GradientDescent(0.1).create(parameters())
    grad = jax.grad(lambda o: loss_of(o.target), allow_int=True)(plain)
    plain = plain.apply_gradient(grad.target)
    return holder[0].target, mean.target, plain.target
