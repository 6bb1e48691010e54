# Optimizers that average their gradients over the devices, by the method that did that.
import functools

import jax
import jax.numpy as jnp
from arrays import gradients, parameters
from flax import optim, serialization


class History:
    def __init__(self, rate_fn):
        self.rate_fn = rate_fn

    def take_step(self, optimizer, grads):
        step = optimizer.state.step
        return optimizer.apply_gradient(grads, learning_rate=self.rate_fn(step))


def create_train_step(history, axis_name="batch"):
    def train_step(optimizer, shift):
        return history.take_step(optimizer, gradients(optimizer.target, shift))

    return jax.pmap(train_step, axis_name=axis_name)


def train(shifts):
    optimizer = optim.Adam(beta1=0.5).create(parameters())
    start = int(optimizer.state.step)
    saved = serialization.to_bytes(optimizer)
    optimizer = serialization.from_bytes(optimizer, saved)
    optimizer = optimizer.replicate()
    train_step = create_train_step(History(lambda step: 0.1 / (step + 1)))
    targets = []
    for _ in range(3):
        optimizer = train_step(optimizer, shifts)
        targets.append(optimizer.target["scale"])
    assert start == 0 and optimizer.state.step.shape == shifts.shape
    optimizer = optimizer.unreplicate()
    restored = serialization.from_bytes(optimizer, serialization.to_bytes(optimizer))
    return restored.target, restored.state.step, targets


@functools.partial(jax.pmap, axis_name="examples")
def weighted_step(optimizer, grads):
    return optimizer.apply_gradient(jax.tree_util.tree_map(lambda each: each * 0.5, grads))


def evaluate(config, shifts):
    optimizer = optim.Momentum(0.1).create(parameters()).replicate(axis_name="examples")
    grads = jax.vmap(functools.partial(gradients, parameters()))(shifts)
    if config["steps"]:
        optimizer = weighted_step(optimizer, grads)
    with jax.disable_jit(False):
        optimizer = optimizer.unreplicate()
    totals = [jnp.sum(each) for each in jax.tree_util.tree_leaves(optimizer.target)]
    return optimizer.target, totals


def run():
    shifts = jnp.arange(float(jax.local_device_count()))
    devices = jax.local_devices()
    few = optim.GradientDescent(0.1).create(parameters()).replicate(devices, "batch")
    step = jax.pmap(lambda opt: opt.apply_gradient(grads=gradients(opt.target)), axis_name="batch")
    return train(shifts), evaluate({"steps": 1}, shifts), step(few).unreplicate().target
