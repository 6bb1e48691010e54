"""Trains a point to go to zero by all trainers of brax that have an optimizer of flax.optim."""

from stubs import stub  # isort: skip
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

jax.config.update("jax_num_cpu_devices", 2)  # es.py divides the devices by two
brax = sys.modules["brax"] = types.ModuleType("brax")  # without the physics
brax.__path__ = ["brax"]
stub("brax.envs", "clu.metric_writers")


@struct.dataclass
class State:
    obs: jnp.ndarray
    reward: jnp.ndarray
    done: jnp.ndarray
    steps: jnp.ndarray
    metrics: dict


class Env:
    observation_size, action_size = 3, 2

    def __init__(self, action_repeat, batch_size, episode_length):
        self.batch_size, self.episode_length = batch_size, episode_length

    def reset(self, rng):
        # The wrapper tells these apart by `is`.
        reward, done, steps, x = (jnp.zeros(len(rng)) for _ in range(4))
        obs = jax.vmap(lambda key: jax.random.normal(key, (3,)))(rng)
        return State(obs, reward, done, steps, {"x": x})

    def step(self, state, action, normalizer_params=None, extra_params=None):
        obs = 0.9 * state.obs + 0.1 * jnp.concatenate([action, action[:, :1]], axis=-1)
        steps = state.steps + 1
        done = jnp.where(steps >= self.episode_length, 1.0, 0.0)
        return State(obs, -jnp.sum(obs**2, axis=-1), done, steps, {"x": obs[:, 0]})


sys.modules["brax.envs"].State, sys.modules["brax.envs"].Env = State, Env
import tensorflow_probability.substrates.jax  # noqa: E402, F401  # it is no attribute by itself
from brax.training import apg, es, ppo, sac  # noqa: E402

common = {
    "environment_fn": Env,
    "episode_length": 5,
    "num_eval_envs": 4,
    "learning_rate": 1e-2,
    "log_frequency": 3,
}
one = {**common, "max_devices_per_host": 1, "num_envs": 4}
ends = [
    ppo.train(
        **one,
        num_timesteps=96,
        unroll_length=3,
        batch_size=4,
        num_minibatches=4,
        num_update_epochs=2,
        normalize_observations=True,
    ),
    apg.train(**one),
    es.train(
        **common,
        num_timesteps=64,
        population_size=4,
        fitness_episode_length=4,
        fitness_shaping=2,
    ),
    sac.train(
        **{**one, "log_frequency": 8},
        num_timesteps=32,
        batch_size=8,
        min_replay_size=8,
        max_replay_size=32,
        normalize_observations=True,
    ),
]
for inference, params, _ in ends:
    print(np.asarray(inference(params, jnp.ones((1, 3)), jax.random.PRNGKey(0))))
