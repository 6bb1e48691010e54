"""Twin delayed DDPG; what it learns is one tuple."""

import functools
import os
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import optim

from agents import checkpoint, common
from agents.networks import DoubleCritic, MSEPolicy


class TD3State(NamedTuple):
    actor: optim.Optimizer
    critic: optim.Optimizer
    target_actor: Any
    target_critic: Any
    step: int


def make_optimizer(name, learning_rate):
    optimizers = {
        "adam": lambda lr: optim.Adam(lr, beta1=0.9, eps=1e-7),
        "momentum": functools.partial(optim.Momentum, beta=0.8),
        "rmsprop": optim.RMSProp,
    }
    return optimizers[name](learning_rate)


class TD3Learner(common.Agent):
    name = "td3"
    policy_delay = 2

    def __init__(self, seed, observations, actions, optimizer="adam", learning_rate=3e-3, **kwargs):
        super().__init__(seed, **kwargs)
        actor_key, critic_key = self.split(3)
        self.actor_def = MSEPolicy((16,), actions.shape[-1])
        self.critic_def = DoubleCritic((16,))
        actor_params = jax.jit(self.actor_def.init)(actor_key, observations)["params"]
        critic_params = jax.jit(self.critic_def.init)(critic_key, observations, actions)["params"]
        self.state = TD3State(
            actor=make_optimizer(optimizer, learning_rate).create(actor_params),
            critic=make_optimizer(optimizer, 3 * learning_rate).create(critic_params),
            target_actor=actor_params,
            target_critic=critic_params,
            step=0,
        )

    @functools.partial(jax.jit, static_argnums=0)
    def _update_critic(self, state: TD3State, batch, rng):
        actions = self.actor_def.apply({"params": state.target_actor}, batch.next_observations)
        noise = jnp.clip(0.2 * jax.random.normal(rng, actions.shape), -0.5, 0.5)
        next_q1, next_q2 = self.critic_def.apply(
            {"params": state.target_critic}, batch.next_observations, actions + noise
        )
        target_q = batch.rewards + self.discount * batch.masks * jnp.minimum(next_q1, next_q2)

        def loss_fn(params):
            q1, q2 = self.critic_def.apply({"params": params}, batch.observations, batch.actions)
            loss = jnp.mean((q1 - target_q) ** 2) + jnp.mean((q2 - target_q) ** 2)
            return loss, {"critic_loss": loss, "td_error": q1 - target_q}

        grads, info = jax.grad(loss_fn, has_aux=True)(state.critic.target)
        return state._replace(critic=state.critic.apply_gradient(grads), step=state.step + 1), info

    @functools.partial(jax.jit, static_argnums=0)
    def _update_actor(self, state: TD3State, batch):
        def loss_fn(params):
            actions = self.actor_def.apply({"params": params}, batch.observations)
            q, _ = self.critic_def.apply(
                {"params": state.critic.target}, batch.observations, actions
            )
            return -q.mean()

        actor = state.actor.apply_gradient(jax.grad(loss_fn)(state.actor.target))
        return state._replace(
            actor=actor,
            target_actor=common.target_update(actor.target, state.target_actor, self.tau),
            target_critic=common.target_update(state.critic.target, state.target_critic, self.tau),
        )

    def update(self, batch):
        self.state, info = self._update_critic(self.state, batch, self.split())
        if int(self.state.step) % self.policy_delay == 0:
            self.state = self._update_actor(self.state, batch)
        return info

    def parts(self):
        return {"actor": self.state.actor, "critic": self.state.critic}

    def save(self, directory):
        checkpoint.save_all(os.path.join(directory, self.name), self.parts())

    def load(self, directory):
        loaded = checkpoint.load_all(os.path.join(directory, self.name), self.parts())
        self.state = self.state._replace(**loaded)

    def results(self):
        state = common.to_numpy(self.state)
        steps = [state.step, state.actor.state.step, state.critic.state.step]
        return self.history, state.actor.target, state.critic.target, steps
