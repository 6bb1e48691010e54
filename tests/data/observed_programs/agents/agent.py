# Optimizers in attributes, given to functions that the text alone does not show.
import jax
import jax.numpy as jnp
from flax import optim

import plugins


def loss(params, x):
    return ((params["w"] * x).sum() - 1.0) ** 2


@jax.jit
def update(optimizer, x):
    grads = jax.grad(loss)(optimizer.target, x)
    return optimizer.apply_gradient(grads)


class Agent:
    def __init__(self):
        params = {"w": jnp.ones(3)}
        self.actor = optim.Adam(learning_rate=0.1).create(params)
        self.critic = plugins.prepared(optim.Momentum(learning_rate=0.1).create(params))
        self.hooks = plugins.hooks(update)

    def train(self, x):
        self.actor = update(self.actor, x)
        for hook in self.hooks:
            self.critic = hook(self.critic, x)
        return self.actor.target["w"], self.critic.target["w"]

    def parameters(self):
        # The run does not come here.
        return self.critic.target

    def summary(self, other):
        return other.optimizer.target
