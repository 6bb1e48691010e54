# Stands for: the physics engines with built-in training, which scan over updates of an Optimizer.
import argparse
import functools
import os

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from flax import optim
from flax.training import checkpoints

OBS_SIZE, ACTION_SIZE = 4, 2


@flax.struct.dataclass
class Normalizer:
    # The number of observations, their mean, and the sum of squared distances from it.
    statistics: jnp.ndarray


@flax.struct.dataclass
class TrainingState:
    optimizer: optim.Optimizer
    normalizer: Normalizer
    key: jax.random.KeyArray


class Policy(nn.Module):
    @nn.compact
    def __call__(self, obs):
        x = nn.swish(nn.Dense(16)(obs))
        return nn.tanh(nn.Dense(ACTION_SIZE, kernel_init=nn.initializers.zeros)(x))


def reset(key):
    key_p, key_v = jax.random.split(key)
    position = jax.random.uniform(key_p, (ACTION_SIZE,), minval=-1.0, maxval=1.0)
    return position, 0.1 * jax.random.normal(key_v, (ACTION_SIZE,))


def env_step(state, action):
    position, velocity = state
    velocity = 0.9 * velocity + 0.4 * action
    position = position + 0.5 * velocity
    return (position, velocity), jnp.sum(position**2) + 0.05 * jnp.sum(action**2)


def update_normalizer(normalizer, obs):
    stats = normalizer.statistics
    count, mean = stats[0], stats[1]
    new_count = count + obs.shape[0]
    delta = jnp.mean(obs, axis=0) - mean
    new_mean = mean + delta * obs.shape[0] / new_count
    spread = jnp.sum((obs - mean) * (obs - new_mean), axis=0)
    stats = jax.ops.index_update(stats, jax.ops.index[0], new_count)
    stats = jax.ops.index_update(stats, jax.ops.index[1, :], new_mean)
    stats = jax.ops.index_add(stats, jax.ops.index[2, :], spread)
    return Normalizer(stats)


def normalize(normalizer, obs):
    count, mean, spread = normalizer.statistics
    return (obs - mean) / jnp.sqrt(jnp.maximum(spread / jnp.maximum(count, 1.0), 1e-2))


def rollout_cost(params, normalizer, key, num_envs, episode_length):
    def body(state, _):
        obs = jnp.concatenate(state, axis=-1)
        action = Policy().apply(params, normalize(normalizer, obs))
        state, cost = jax.vmap(env_step)(state, action)
        return state, (jnp.mean(cost), obs)

    state = jax.vmap(reset)(jax.random.split(key, num_envs))
    _, (costs, obs) = jax.lax.scan(body, state, (), length=episode_length)
    return jnp.mean(costs), obs


@functools.partial(jax.jit, static_argnums=(1,))
def epoch(state: TrainingState, num_updates):
    """Several updates in one scan, with everything that changes in the carry."""

    def update(carry, _):
        optimizer, normalizer, key = carry
        key, key_rollout = jax.random.split(key)
        key_rollout = jax.lax.tie_in(optimizer.state.step, key_rollout)
        grad_fn = jax.value_and_grad(rollout_cost, has_aux=True)
        (cost, obs), grad = grad_fn(optimizer.target, normalizer, key_rollout, 16, 10)
        norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree_leaves(grad)))
        grad = jax.tree_map(lambda g: g / jnp.maximum(norm, 1.0), grad)
        optimizer = optimizer.apply_gradient(grad)
        normalizer = update_normalizer(normalizer, obs.reshape((-1, OBS_SIZE)))
        return (optimizer, normalizer, key), cost

    carry = (state.optimizer, state.normalizer, state.key)
    carry, costs = jax.lax.scan(update, carry, (), length=num_updates)
    return TrainingState(*carry), jnp.mean(costs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--save_every", type=int, default=10)
    args = parser.parse_args()

    key, key_init = jax.random.split(jax.random.PRNGKey(0))
    params = Policy().init(key_init, jnp.zeros((1, OBS_SIZE)))
    optimizer = optim.Adam(learning_rate=3e-3, beta2=0.99, eps=1e-5).create(params)
    state = TrainingState(optimizer, Normalizer(jnp.zeros((3, OBS_SIZE))), key)
    state = checkpoints.restore_checkpoint(args.workdir, state)

    for step in range(int(state.optimizer.state.step) // 4, args.steps):
        state, cost = epoch(state, 4)
        print(f"step {step} loss {np.float_(cost):.5f}", flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, state, step + 1, keep=3)

    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(state))


if __name__ == "__main__":
    main()
