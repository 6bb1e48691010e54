from typing import Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp

from agents.common import default_init


class MLP(nn.Module):
    hidden_dims: Sequence[int]
    activate_final: bool = False

    @nn.compact
    def __call__(self, x):
        for i, size in enumerate(self.hidden_dims):
            x = nn.Dense(size, kernel_init=default_init())(x)
            if i + 1 < len(self.hidden_dims) or self.activate_final:
                x = nn.tanh(x)
        return x


class NormalPolicy(nn.Module):
    hidden_dims: Sequence[int]
    action_dim: int

    @nn.compact
    def __call__(self, observations):
        x = MLP(self.hidden_dims, activate_final=True)(observations)
        means = nn.Dense(self.action_dim, kernel_init=default_init(0.1))(x)
        log_stds = self.param("log_stds", nn.initializers.constant(-1.0), (self.action_dim,))
        return means, log_stds


class Critic(nn.Module):
    hidden_dims: Sequence[int]

    @nn.compact
    def __call__(self, observations, actions):
        inputs = jnp.concatenate([observations, actions], -1)
        return jnp.squeeze(MLP((*self.hidden_dims, 1))(inputs), -1)


class DoubleCritic(nn.Module):
    hidden_dims: Sequence[int]

    @nn.compact
    def __call__(self, observations, actions):
        critic1 = Critic(self.hidden_dims)(observations, actions)
        critic2 = Critic(self.hidden_dims)(observations, actions)
        return critic1, critic2


class Temperature(nn.Module):
    initial_temperature: float = 1.0

    @nn.compact
    def __call__(self):
        log_temp = self.param(
            "log_temp", lambda key: jnp.log(jnp.full((), self.initial_temperature))
        )
        return jnp.exp(log_temp)


def sample_actions(rng, apply_fn, params, observations):
    means, log_stds = apply_fn({"params": params}, observations)
    noise = jax.random.normal(rng, means.shape)
    log_probs = jnp.sum(-0.5 * noise**2 - log_stds - 0.5 * jnp.log(2 * jnp.pi), axis=-1)
    return means + jnp.exp(log_stds) * noise, log_probs
