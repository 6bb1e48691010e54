"""Soft actor-critic; each network is a Model."""

import functools
import os

import jax
import jax.numpy as jnp
from flax import optim

from agents import checkpoint
from agents.common import Agent, Batch, InfoDict, Model, target_update
from agents.networks import DoubleCritic, NormalPolicy, Temperature, sample_actions


def update_temperature(temp: Model, entropy, target_entropy):
    def loss_fn(params):
        temperature = temp.apply(params)
        loss = temperature * (entropy - target_entropy)
        return loss, {"temperature": temperature, "temp_loss": loss}

    return temp.apply_loss(loss_fn)


def update_actor(key, actor: Model, critic: Model, temp: Model, batch: Batch):
    def loss_fn(actor_params):
        actions, log_probs = sample_actions(key, actor.apply_fn, actor_params, batch.observations)
        q1, q2 = critic(batch.observations, actions)
        loss = (log_probs * temp() - jnp.minimum(q1, q2)).mean()
        return loss, {"actor_loss": loss, "entropy": -log_probs.mean()}

    return actor.apply_loss(loss_fn)


def update_critic(key, actor, critic, target_params, temp, batch, discount):
    next_actions, next_log_probs = sample_actions(
        key, actor.apply_fn, actor.optimizer.target, batch.next_observations
    )
    next_q1, next_q2 = critic.apply(target_params, batch.next_observations, next_actions)
    next_q = jnp.minimum(next_q1, next_q2) - temp() * next_log_probs
    target_q = batch.rewards + discount * batch.masks * next_q

    def loss_fn(critic_params):
        q1, q2 = critic.apply(critic_params, batch.observations, batch.actions)
        loss = ((q1 - target_q) ** 2 + (q2 - target_q) ** 2).mean()
        return loss, {"critic_loss": loss}

    return critic.apply_loss(loss_fn)


@functools.partial(jax.jit, static_argnums=(6, 7, 8))
def _update_jit(rng, actor, critic, target_params, temp, batch, discount, tau, target_entropy):
    key1, key2 = jax.random.split(rng)
    critic, critic_info = update_critic(key1, actor, critic, target_params, temp, batch, discount)
    target_params = target_update(critic.params, target_params, tau)
    actor, actor_info = update_actor(key2, actor, critic, temp, batch)
    temp, alpha_info = update_temperature(temp, actor_info["entropy"], target_entropy)
    return actor, critic, target_params, temp, {**critic_info, **actor_info, **alpha_info}


class SACLearner(Agent):
    name = "sac"

    def __init__(self, seed, observations, actions, lr=3e-3, hidden_dims=(16, 16), **kwargs):
        super().__init__(seed, **kwargs)
        actor_key, critic_key, temp_key = self.split(4)
        action_dim = actions.shape[-1]
        self.target_entropy = -action_dim / 2
        self.actor = Model.create(
            NormalPolicy(hidden_dims, action_dim),
            inputs=[actor_key, observations],
            optimizer_def=optim.Adam(learning_rate=lr),
        )
        self.critic = Model.create(
            DoubleCritic(hidden_dims),
            inputs=[critic_key, observations, actions],
            optimizer_def=optim.Adam(learning_rate=3 * lr),
        )
        self.target_critic_params = self.critic.params
        self.temp = Model.create(
            Temperature(0.1), inputs=[temp_key], optimizer_def=optim.Adam(lr, beta1=0.5)
        )

    def update(self, batch: Batch) -> InfoDict:
        models = self.actor, self.critic, self.target_critic_params, self.temp
        self.actor, self.critic, self.target_critic_params, self.temp, info = _update_jit(
            self.split(), *models, batch, self.discount, self.tau, self.target_entropy
        )
        return info

    def parts(self):
        return {"actor": self.actor, "critic": self.critic, "temp": self.temp}

    def save(self, directory):
        for name, part in self.parts().items():
            checkpoint.save_model(os.path.join(directory, self.name, name), part.optimizer)

    def load(self, directory):
        for name, part in self.parts().items():
            path = os.path.join(directory, self.name, name)
            loaded = part.replace(optimizer=checkpoint.load_model(path, part.optimizer))
            setattr(self, name, loaded)

    def results(self):
        steps = {name: part.optimizer.state.step for name, part in self.parts().items()}
        return self.history, self.actor.params, self.critic.params, self.temp.params, steps
