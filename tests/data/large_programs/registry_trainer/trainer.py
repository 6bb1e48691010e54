import functools

import jax
import jax.numpy as jnp
from flax import jax_utils
from flax.training import checkpoints, common_utils

from registry_trainer.models import create_model
from registry_trainer.optimizers import create_optimizer
from registry_trainer.registry import LOSSES, TRAINERS
from registry_trainer.schedules import create_schedule


class BaseTrainer:
    """Owns the optimizer; subclasses say how one step is compiled."""

    def __init__(self, config, dataset, hooks=()):
        self.config = config
        self.dataset = dataset
        self.hooks = list(hooks)
        self.model = create_model(config)
        self.loss_fn = LOSSES.get(config.loss)
        self.schedule = create_schedule(config)
        rng = jax.random.PRNGKey(config.seed)
        params = self.model.init(rng, dataset[0]["inputs"])["params"]
        self.optimizer = self.place(create_optimizer(config, params))
        self.step_fn = self.compile(self.train_step)
        self.eval_fn = jax.jit(self.eval_step)

    def place(self, optimizer):
        return optimizer

    def compile(self, step_fn):
        raise NotImplementedError

    def average(self, tree):
        return tree

    def train_step(self, optimizer, batch, learning_rate):
        def loss_fn(params):
            logits = self.model.apply({"params": params}, batch["inputs"])
            return self.loss_fn(logits, batch["labels"]), logits

        grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
        (loss, logits), grads = grad_fn(optimizer.target)
        grads = self.average(grads)
        new_optimizer = optimizer.apply_gradient(grads, learning_rate=learning_rate)
        accuracy = jnp.mean(jnp.argmax(logits, -1) == batch["labels"])
        return new_optimizer, self.average({"loss": loss, "accuracy": accuracy})

    def eval_step(self, params, batch):
        return self.loss_fn(self.model.apply({"params": params}, batch["inputs"]), batch["labels"])

    def run_step(self, step):
        batch = self.dataset[step]
        self.optimizer, metrics = self.step_fn(self.optimizer, batch, self.schedule(step))
        return metrics

    def train(self):
        for step in range(self.config.steps):
            metrics = self.run_step(step)
            for hook in self.hooks:
                hook(self, step, metrics)
        return self

    @property
    def params(self):
        return self.optimizer.target

    def current_step(self):
        return int(self.optimizer.state.step)

    def evaluate(self, step=1000):
        return self.eval_fn(self.params, self.dataset[step])

    def save(self, directory):
        checkpoints.save_checkpoint(directory, self.optimizer, self.current_step(), keep=1)

    def restore(self, directory):
        self.optimizer = checkpoints.restore_checkpoint(directory, self.optimizer)
        return self


@TRAINERS.register("single")
class SingleTrainer(BaseTrainer):
    def compile(self, step_fn):
        return jax.jit(step_fn)


@TRAINERS.register("parallel")
class ParallelTrainer(BaseTrainer):
    """The same on all devices."""

    def place(self, optimizer):
        return jax_utils.replicate(optimizer)

    def compile(self, step_fn):
        return jax.pmap(step_fn, axis_name="batch")

    def average(self, tree):
        return jax.lax.pmean(tree, axis_name="batch")

    def run_step(self, step):
        batch = common_utils.shard(self.dataset[step])
        learning_rate = jax_utils.replicate(jnp.asarray(self.schedule(step)))
        self.optimizer, metrics = self.step_fn(self.optimizer, batch, learning_rate)
        return jax.tree_map(lambda x: x[0], metrics)

    @property
    def params(self):
        return jax_utils.unreplicate(self.optimizer.target)

    def current_step(self):
        return int(self.optimizer.state.step[0])

    def save(self, directory):
        optimizer = jax_utils.unreplicate(self.optimizer)
        checkpoints.save_checkpoint(directory, optimizer, self.current_step(), keep=1)

    def restore(self, directory):
        optimizer = jax_utils.unreplicate(self.optimizer)
        self.optimizer = self.place(checkpoints.restore_checkpoint(directory, optimizer))
        return self


@TRAINERS.register("averaged")
class AveragedTrainer(SingleTrainer):
    """Evaluates with an average of the parameters of all steps."""

    decay = 0.5

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ema = self.optimizer.target

    def run_step(self, step):
        metrics = super().run_step(step)
        mix = functools.partial(
            jax.tree_multimap, lambda a, b: self.decay * a + (1 - self.decay) * b
        )
        self.ema = mix(self.ema, self.optimizer.target)
        return metrics

    @property
    def params(self):
        return self.ema


def create_trainer(config, *args, **kwargs):
    return TRAINERS.get(config.trainer)(config, *args, **kwargs)
