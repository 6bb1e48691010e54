# Definitions that decorators put into a registry, and trainers that place their optimizer.
import functools

import jax
from arrays import gradients, parameters
from flax import jax_utils, optim

OPTIMIZERS = {}


def register(*names):
    def decorator(make):
        for name in names or (make.__name__,):
            OPTIMIZERS[name] = make
        return make

    return decorator


@register("adamw", "adam_with_decay")
def adam(rate):
    return optim.Adam(rate, weight_decay=0.01)


@register()
def momentum(rate, nesterov=False):
    return optim.Momentum(learning_rate=rate, beta=0.8, nesterov=nesterov)


register("nesterov")(functools.partial(momentum, nesterov=True))


class Single:
    def __init__(self, name):
        self.optimizer = self.place(OPTIMIZERS[name](0.1).create(parameters()))
        self.step_of = self.compiled(lambda o: o.apply_gradient(gradients(o.target)))

    def place(self, optimizer):
        return optimizer

    def compiled(self, step):
        return jax.jit(step)

    def train(self):
        for _ in range(2):
            self.optimizer = self.step_of(self.optimizer)
        return self.optimizer.target


class Parallel(Single):
    def place(self, optimizer):
        return jax_utils.replicate(optimizer)

    def compiled(self, step):
        return jax.pmap(step, axis_name="batch")


def run():
    trainers = [Single("adam_with_decay"), Single("momentum"), Parallel("nesterov")]
    return [trainer.train() for trainer in trainers]
