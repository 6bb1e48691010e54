# What a checkpoint, and a function over all leaves, must not change: the learning rate.
import jax
from arrays import gradients, parameters
from flax import optim, serialization


def make(name, rate):
    return getattr(optim, name)(learning_rate=rate).create(parameters())


def configured(**config):
    return optim.Momentum(**config)


def run():
    pretrained = make("Momentum", 0.1)
    saved = serialization.to_bytes(pretrained.apply_gradient(gradients(pretrained.target)))
    finetuned = serialization.from_bytes(make("Momentum", 0.001), saved)
    finetuned = finetuned.apply_gradient(gradients(finetuned.target))

    doubled = configured(learning_rate=0.1, beta=0.5).create(parameters())
    doubled = doubled.apply_gradient(gradients(doubled.target))
    doubled = jax.tree_map(lambda x: 2 * x, doubled)
    doubled = doubled.apply_gradient(gradients(doubled.target))
    return finetuned.target, doubled.target
