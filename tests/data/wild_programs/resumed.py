# Steps and parameters that are set, values as dicts, and checkpoints.
import tempfile

import jax
from arrays import gradients, parameters
from flax import optim, serialization
from flax.training import checkpoints


@jax.jit
def step_of(optimizer):
    return optimizer.apply_gradient(gradients(optimizer.target, optimizer.state.step))


def with_step(optimizer, step):
    return optimizer.replace(state=optimizer.state.replace(step=step))


def through_dicts(optimizer):
    template = jax.tree_map(lambda x: 0 * x, optimizer)
    return template.restore_state(optimizer.state_dict())


def through_bytes(optimizer):
    return serialization.from_bytes(optimizer, serialization.to_bytes(optimizer))


def through_files(optimizer):
    with tempfile.TemporaryDirectory() as folder:
        checkpoints.save_checkpoint(folder, optimizer, 3)
        return checkpoints.restore_checkpoint(folder, optimizer)


def run():
    optimizer = optim.Adam(learning_rate=0.1, beta1=0.5, beta2=0.9).create(parameters())
    optimizer = step_of(step_of(optimizer))
    optimizer = with_step(optimizer, optimizer.state.step + 4)
    optimizer = step_of(optimizer)
    for copied in (through_dicts, through_bytes, through_files):
        optimizer = step_of(copied(optimizer))
    pretrained = jax.tree_map(lambda x: x + 1, parameters())
    optimizer = step_of(optimizer.replace(target=pretrained))
    return optimizer.target, optimizer.state.step
