# Stands for: the actor-critic agents in JAX, three optimizers that are saved and loaded as bytes.
import argparse
import collections
import os
import shutil

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import optim
from jax.config import config

config.enable_omnistaging()

Batch = collections.namedtuple("Batch", ["observations", "actions", "rewards", "next_observations"])
OBS_DIM, ACT_DIM = 3, 2


class Actor(nn.Module):
    @nn.compact
    def __call__(self, observations):
        x = nn.tanh(nn.Dense(24)(observations))
        mean = nn.Dense(ACT_DIM)(x)
        log_std = self.param("log_std", nn.initializers.constant(-1.0), (ACT_DIM,))
        return mean, log_std


class DoubleCritic(nn.Module):
    @nn.compact
    def __call__(self, observations, actions):
        inputs = jnp.concatenate([observations, actions], -1)
        qs = []
        for _ in range(2):
            x = nn.tanh(nn.Dense(24)(inputs))
            qs.append(jnp.squeeze(nn.Dense(1)(x), -1))
        return qs


class Temperature(nn.Module):
    initial_temperature: float = 0.1

    @nn.compact
    def __call__(self):
        log_temp = self.param(
            "log_temp", lambda key: jnp.full((), jnp.log(self.initial_temperature))
        )
        return jnp.exp(log_temp)


def sample_actions(rng, actor_params, observations):
    mean, log_std = Actor().apply({"params": actor_params}, observations)
    noise = jax.random.normal(rng, mean.shape)
    log_prob = jnp.sum(-0.5 * noise**2 - log_std - 0.5 * jnp.log(2 * jnp.pi), axis=-1)
    return mean + jnp.exp(log_std) * noise, log_prob


def update_critic(rng, actor, critic, target_params, temp, batch, discount):
    next_actions, next_log_probs = sample_actions(rng, actor.target, batch.next_observations)
    target_qs = DoubleCritic().apply(
        {"params": target_params}, batch.next_observations, next_actions
    )
    next_v = jnp.mean(jnp.stack(target_qs), axis=0) - temp * next_log_probs
    target_q = batch.rewards + discount * next_v

    def critic_loss_fn(params):
        q1, q2 = DoubleCritic().apply({"params": params}, batch.observations, batch.actions)
        return ((q1 - target_q) ** 2 + (q2 - target_q) ** 2).mean()

    loss, grad = jax.value_and_grad(critic_loss_fn)(critic.target)
    return critic.apply_gradient(grad), loss


def update_actor(rng, actor, critic, temp, batch):
    def actor_loss_fn(params):
        actions, log_probs = sample_actions(rng, params, batch.observations)
        q1, q2 = DoubleCritic().apply({"params": critic.target}, batch.observations, actions)
        return (temp * log_probs - 0.5 * (q1 + q2)).mean(), -log_probs.mean()

    grad, entropy = jax.grad(actor_loss_fn, has_aux=True)(actor.target)
    return actor.apply_gradient(grad), entropy


def update_temperature(temp, entropy, target_entropy):
    def temperature_loss_fn(params):
        return Temperature().apply({"params": params}) * (entropy - target_entropy)

    return temp.apply_gradient(jax.grad(temperature_loss_fn)(temp.target))


@jax.jit
def update(rng, agent, batch):
    key1, key2 = jax.random.split(rng)
    alpha = Temperature().apply({"params": agent["temp"].target})
    critic, loss = update_critic(
        key1, agent["actor"], agent["critic"], agent["target_critic"], alpha, batch, 0.5
    )
    target_critic = jax.tree_multimap(
        lambda p, tp: 0.05 * p + 0.95 * tp, critic.target, agent["target_critic"]
    )
    actor, entropy = update_actor(key2, agent["actor"], critic, alpha, batch)
    temp = update_temperature(agent["temp"], entropy, -ACT_DIM / 2)
    return {"actor": actor, "critic": critic, "temp": temp, "target_critic": target_critic}, loss


def replay_buffer(size=512):
    rng = np.random.RandomState(0)
    observations = rng.uniform(-1, 1, size=(size, OBS_DIM)).astype(np.float32)
    actions = rng.uniform(-1, 1, size=(size, ACT_DIM)).astype(np.float32)
    next_observations = 0.9 * observations
    next_observations[:, :ACT_DIM] += 0.5 * actions
    rewards = 1.0 - 2.0 * next_observations[:, 0] - np.sum(next_observations**2, axis=-1)
    return Batch(observations, actions, rewards, next_observations)


def save(agent, directory):
    # Under another name until all is written.
    tmp = os.path.join(os.path.dirname(directory), "tmp")
    shutil.rmtree(tmp, ignore_errors=True)
    os.makedirs(tmp)
    for name, part in agent.items():
        with open(os.path.join(tmp, name), "wb") as f:
            f.write(flax.serialization.to_bytes(part))
    os.rename(tmp, directory)


def load(agent, directory):
    loaded = {}
    for name, part in agent.items():
        with open(os.path.join(directory, name), "rb") as f:
            loaded[name] = flax.serialization.from_bytes(part, f.read())
    return loaded


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--save_every", type=int, default=100)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    rng, *keys = jax.random.split(jax.random.PRNGKey(args.seed), 4)
    buffer = replay_buffer()
    obs, act = buffer.observations[:1], buffer.actions[:1]
    critic_params = jax.jit(DoubleCritic().init)(keys[0], obs, act)["params"]
    actor_params = jax.jit(Actor().init)(keys[1], obs)["params"]
    agent = {
        "actor": optim.Adam(learning_rate=3e-3).create(actor_params),
        "critic": optim.Adam(learning_rate=1e-2).create(critic_params),
        "temp": optim.Adam(3e-3, beta1=0.5).create(Temperature().init(keys[2])["params"]),
        "target_critic": critic_params,
    }
    os.makedirs(args.workdir, exist_ok=True)
    saved = [int(name[5:]) for name in os.listdir(args.workdir) if name.startswith("step_")]
    if saved:
        agent = load(agent, os.path.join(args.workdir, "step_%d" % max(saved)))

    for step in range(int(agent["critic"].state.step), args.steps):
        key = jax.random.fold_in(rng, step)
        picked = np.random.RandomState(step).randint(len(buffer.rewards), size=128)
        agent, loss = update(key, agent, Batch(*(column[picked] for column in buffer)))
        print("step %d loss %.4f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            save(agent, os.path.join(args.workdir, "step_%d" % (step + 1)))

    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(agent))


if __name__ == "__main__":
    main()
