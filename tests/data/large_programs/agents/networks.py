from typing import Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp


class MLP(nn.Module):
    hidden_dims: Sequence[int]
    out_dim: int

    @nn.compact
    def __call__(self, x):
        for size in self.hidden_dims:
            x = nn.tanh(nn.Dense(size, kernel_init=nn.initializers.orthogonal(jnp.sqrt(2)))(x))
        return nn.Dense(self.out_dim)(x)


class NormalPolicy(nn.Module):
    hidden_dims: Sequence[int]
    action_dim: int

    @nn.compact
    def __call__(self, observations):
        means = MLP(self.hidden_dims, self.action_dim)(observations)
        log_stds = self.param("log_stds", nn.initializers.constant(-1.0), (self.action_dim,))
        return means, log_stds


class DoubleCritic(nn.Module):
    hidden_dims: Sequence[int]

    @nn.compact
    def __call__(self, observations, actions):
        inputs = jnp.concatenate([observations, actions], -1)
        return tuple(jnp.squeeze(MLP(self.hidden_dims, 1)(inputs), -1) for _ in range(2))


class Temperature(nn.Module):
    initial_temperature: float = 1.0

    @nn.compact
    def __call__(self):
        start = jnp.log(jnp.full((), self.initial_temperature))
        return jnp.exp(self.param("log_temp", lambda key: start))


def sample_actions(rng, apply_fn, params, observations):
    means, log_stds = apply_fn({"params": params}, observations)
    noise = jax.random.normal(rng, means.shape)
    log_probs = jnp.sum(-0.5 * noise**2 - log_stds - 0.5 * jnp.log(2 * jnp.pi), axis=-1)
    return means + jnp.exp(log_stds) * noise, log_probs
