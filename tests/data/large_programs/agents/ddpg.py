"""Deep deterministic policy gradients, on all devices at once."""

import functools
import os

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, optim
from flax.training import common_utils

from agents.checkpoint import load_model, save_model
from agents.common import Agent, target_update, to_numpy, tree_norm, unreplicate_first
from agents.networks import Critic, MSEPolicy


def critic_step(critic_fn, actor_fn, discount, critic, targets, batch):
    next_actions = actor_fn({"params": targets["actor"]}, batch.next_observations)
    next_q = critic_fn({"params": targets["critic"]}, batch.next_observations, next_actions)
    target_q = jax.lax.stop_gradient(batch.rewards + discount * batch.masks * next_q)

    def loss_fn(params):
        q = critic_fn({"params": params}, batch.observations, batch.actions)
        return jnp.mean((q - target_q) ** 2), q - target_q

    (loss, td_error), grads = jax.value_and_grad(loss_fn, has_aux=True)(critic.target)
    grads = jax.lax.pmean(grads, axis_name="devices")
    return critic.apply_gradient(grads), loss, td_error


def actor_step(critic_fn, actor_fn, actor, critic_params, batch):
    def loss_fn(params):
        actions = actor_fn({"params": params}, batch.observations)
        return -jnp.mean(critic_fn({"params": critic_params}, batch.observations, actions))

    loss, grads = jax.value_and_grad(loss_fn)(actor.target)
    grads = jax.lax.pmean(grads, axis_name="devices")
    actor = actor.apply_gradient(grads)
    return actor, loss, tree_norm(grads)


def update_step(critic_fn, actor_fn, discount, tau, actor, critic, targets, batch):
    critic, critic_loss, td_error = critic_step(
        critic_fn, actor_fn, discount, critic, targets, batch
    )
    actor, actor_loss, grad_norm = actor_step(critic_fn, actor_fn, actor, critic.target, batch)
    targets = {
        "actor": target_update(actor.target, targets["actor"], tau),
        "critic": target_update(critic.target, targets["critic"], tau),
    }
    info = {
        "critic_loss": critic_loss,
        "actor_loss": actor_loss,
        "grad_norm": grad_norm,
        "td_error": td_error,
    }
    return actor, critic, targets, info


class DDPGLearner(Agent):
    name = "ddpg"

    def __init__(
        self,
        seed,
        observations,
        actions,
        actor_lr=1e-3,
        critic_lr=1e-2,
        hidden_dims=(16,),
        **kwargs,
    ):
        super().__init__(seed, **kwargs)
        actor_key, critic_key = self.split(3)
        actor_def, critic_def = MSEPolicy(hidden_dims, actions.shape[-1]), Critic(hidden_dims)
        actor_params = jax.jit(actor_def.init)(actor_key, observations)["params"]
        critic_params = jax.jit(critic_def.init)(critic_key, observations, actions)["params"]
        self.actor_optimizer = jax_utils.replicate(
            optim.Adam(learning_rate=actor_lr).create(actor_params)
        )
        self.critic_optimizer = jax_utils.replicate(
            optim.Adam(learning_rate=critic_lr, weight_decay=1e-4).create(critic_params)
        )
        self.targets = jax_utils.replicate({"actor": actor_params, "critic": critic_params})
        self._update = jax.pmap(
            functools.partial(
                update_step, critic_def.apply, actor_def.apply, self.discount, self.tau
            ),
            axis_name="devices",
        )

    def update(self, batch):
        batch = common_utils.shard(batch)
        self.actor_optimizer, self.critic_optimizer, self.targets, info = self._update(
            self.actor_optimizer, self.critic_optimizer, self.targets, batch
        )
        grad_norm = unreplicate_first(info["grad_norm"])
        assert grad_norm.reshape(()) > 0
        return info

    def save(self, directory):
        for name in ("actor", "critic"):
            optimizer = to_numpy(unreplicate_first(getattr(self, name + "_optimizer")))
            save_model(os.path.join(directory, self.name, name), optimizer)

    def load(self, directory):
        path = os.path.join(directory, self.name)
        actor = unreplicate_first(self.actor_optimizer)
        critic = unreplicate_first(self.critic_optimizer)
        self.actor_optimizer = jax_utils.replicate(load_model(os.path.join(path, "actor"), actor))
        self.critic_optimizer = jax_utils.replicate(
            load_model(os.path.join(path, "critic"), critic)
        )

    def results(self):
        actor = to_numpy(unreplicate_first(self.actor_optimizer))
        critic = to_numpy(unreplicate_first(self.critic_optimizer))
        size = sum(np.prod(x.shape) for x in jax.tree_leaves(critic.target))
        steps = np.stack([actor.state.step, critic.state.step])
        return self.history, actor.target, critic.target, steps, size
