# An object that has an optimizer, as reinforcement learning has them.
import functools

import jax
from arrays import gradients, loss_of, parameters
from flax import optim


@functools.partial(jax.jit, static_argnums=0)
def _update(scale, optimizer, step):
    grads = jax.tree_map(lambda g: scale * g, gradients(optimizer.target, step))
    return optimizer.apply_gradient(grads)


class Trainer:
    """Trains."""

    scale = 2

    def __init__(self, rate, target=None):
        self.rate = rate
        self.target = target or "everything"  # not that of an optimizer
        self.optimizer = self._make(parameters())
        self.history = []

    def _make(self, params):
        self.optimizer_def = optim.Adam(learning_rate=self.rate, beta2=0.99)
        return self.optimizer_def.create(params)

    @property
    def params(self):
        return self.optimizer.target

    @property
    def steps(self):
        return int(self.optimizer.state.step)

    def train(self, steps):
        for _ in range(steps):
            self.optimizer = _update(self.scale, self.optimizer, self.steps)
            self.history.append(loss_of(self.params))
        return self


class QuietTrainer(Trainer):
    """Trains a little, by itself."""

    def train(self, steps):
        super().train(steps)
        self.optimizer = self.optimizer.apply_gradient(gradients(self.optimizer.target))
        return self


def run():
    trainer, quiet = Trainer(0.05).train(3), QuietTrainer(0.01, target="bias").train(2)
    assert (trainer.target, quiet.target) == ("everything", "bias")
    return trainer.params, trainer.history, trainer.steps, quiet.params, quiet.steps
