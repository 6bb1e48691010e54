"""One step, and the trainer that repeats it."""

import os

import jax
import jax.numpy as jnp
from flax import optim, serialization

from text_to_text import utils
from text_to_text.bindings import configurable


def accumulate_grads(model, params, batch, num_microbatches):
    grad_fn = jax.value_and_grad(model.loss_fn, has_aux=True)
    if num_microbatches is None or num_microbatches <= 1:
        (_, (weight_sum, metrics)), grads = grad_fn(params, batch)
        return grads, weight_sum, metrics
    totals = None
    for part in utils.microbatches(batch, num_microbatches):
        (_, (weight_sum, metrics)), grads = grad_fn(params, part)
        found = (grads, weight_sum, metrics)
        totals = found if totals is None else jax.tree_multimap(jnp.add, totals, found)
    return totals


def train_step(optimizer: optim.Optimizer, batch, learning_rate_fn, model, num_microbatches=None):
    grads, weight_sum, metrics = accumulate_grads(model, optimizer.target, batch, num_microbatches)
    grads = jax.tree_map(lambda g: g / weight_sum, grads)
    step = optimizer.state.step
    lr = learning_rate_fn(step)
    new_optimizer = optimizer.apply_gradient(grads, learning_rate=lr)
    metrics = jax.tree_map(lambda x: x / weight_sum, metrics)
    return new_optimizer, dict(metrics, learning_rate=lr)


@configurable
class Trainer:
    def __init__(self, model, optimizer, learning_rate_fn, num_microbatches=None):
        self._model = model
        self._optimizer = optimizer

        def step(optimizer, batch):
            return train_step(optimizer, batch, learning_rate_fn, model, num_microbatches)

        self._compiled_step = jax.jit(step)
        self._compiled_eval = jax.jit(model.eval_fn)

    @property
    def optimizer(self):
        return self._optimizer

    @optimizer.setter
    def optimizer(self, optimizer):
        self._optimizer = optimizer

    @property
    def step(self):
        return int(self._optimizer.state.step)

    def train(self, batches, num_steps):
        metrics = []
        for _ in range(num_steps):
            self.optimizer, step_metrics = self._compiled_step(self.optimizer, next(batches))
            print("step %d loss %.5f" % (self.step, step_metrics["loss"]), flush=True)
            metrics.append(jax.device_get(step_metrics))
        return metrics

    def evaluate(self, batch):
        loss, weight_sum, _ = self._compiled_eval(self._optimizer.target, batch)
        return loss / weight_sum


class Checkpointer:
    """State dicts of optimizers, in one file for each step."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)

    def path(self, step):
        return os.path.join(self.directory, "checkpoint_%d" % step)

    def save(self, optimizer):
        state_dict = serialization.to_state_dict(jax.device_get(optimizer))
        with open(self.path(int(optimizer.state.step)), "wb") as f:
            f.write(serialization.msgpack_serialize(state_dict))

    def latest_step(self):
        steps = [int(name.rpartition("_")[2]) for name in os.listdir(self.directory)]
        return max(steps, default=None)

    def restore(self, optimizer, step=None):
        step = self.latest_step() if step is None else step
        if step is None:
            return optimizer
        with open(self.path(step), "rb") as f:
            state_dict = serialization.msgpack_restore(f.read())
        return optimizer.restore_state(state_dict)


def create_optimizer(model, rng):
    return model.optimizer_def.create(model.get_initial_params(rng))
