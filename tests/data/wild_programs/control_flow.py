# Optimizers as what loops of jax carry.
import jax
import jax.numpy as jnp
from arrays import gradients, loss_of, parameters
from flax import optim
from jax import lax


def scanned(optimizer):
    def body(carry, number):
        opt, total = carry
        opt = opt.apply_gradient(gradients(opt.target, number))
        return (opt, total + loss_of(opt.target)), loss_of(opt.target)

    (optimizer, total), losses = lax.scan(body, (optimizer, 0.0), jnp.arange(3.0))
    return optimizer, total, losses


def looped(optimizer):
    return jax.lax.fori_loop(
        0, 3, lambda i, opt: opt.apply_gradient(gradients(opt.target, i)), optimizer
    )


def repeated(optimizer):
    def unfinished(opt):
        return opt.state.step < 5

    def once(opt):
        return opt.apply_gradient(gradients(opt.target))

    return lax.while_loop(unfinished, once, optimizer)


def chosen(optimizer, wanted):
    return lax.cond(
        wanted,
        lambda opt: opt.apply_gradient(gradients(opt.target)),
        lambda opt: opt,
        optimizer,
    )


def run():
    optimizer = optim.Momentum(learning_rate=0.1, beta=0.5).create(parameters())
    optimizer, total, losses = scanned(optimizer)
    optimizer = repeated(looped(optimizer))
    for wanted in (True, False):
        optimizer = chosen(optimizer, wanted)
    return optimizer.target, total, losses, optimizer.state.step
