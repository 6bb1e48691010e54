# Stands for: the model and rendering modules beside the trainers of NeRF repositories.
from typing import Any, Callable

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np


def positional_encoding(x, degrees):
    scales = jnp.array([2.0**i for i in range(degrees)])
    angles = jnp.reshape(x[..., None, :] * scales[:, None], x.shape[:-1] + (-1,))
    return jnp.concatenate([x, jnp.sin(angles), jnp.cos(angles)], axis=-1)


class MLP(nn.Module):
    depth: int = 2
    width: int = 24
    activation: Callable[..., Any] = nn.softplus

    @nn.compact
    def __call__(self, x):
        for _ in range(self.depth):
            x = self.activation(nn.Dense(self.width)(x))
        raw_rgb = nn.Dense(3, name="rgb")(x)
        raw_sigma = nn.Dense(1, name="sigma")(x)
        return raw_rgb, raw_sigma


class NerfModel(nn.Module):
    num_samples: int = 8
    near: float = 0.5
    far: float = 2.5
    degrees: int = 2

    def setup(self):
        self.coarse = MLP()
        self.fine = MLP()

    def __call__(self, rng: jax.random.KeyArray, rays):
        origins, directions = rays
        rgbs = []
        for i, mlp in enumerate((self.coarse, self.fine)):
            key = jax.random.fold_in(rng, i)
            z_vals = stratified(key, origins.shape[0], self.num_samples, self.near, self.far)
            points = origins[:, None, :] + z_vals[..., None] * directions[:, None, :]
            raw_rgb, raw_sigma = mlp(positional_encoding(points, self.degrees))
            rgbs.append(volumetric_rendering(raw_rgb, raw_sigma[..., 0], z_vals))
        return rgbs


def stratified(key, num_rays, num_samples, near, far):
    edges = jnp.linspace(near, far, num_samples + 1)
    jitter = jax.random.uniform(key, (num_rays, num_samples))
    return edges[:-1] + (edges[1:] - edges[:-1]) * jitter


def volumetric_rendering(raw_rgb, raw_sigma, z_vals):
    rgb = nn.sigmoid(raw_rgb)
    sigma = nn.softplus(raw_sigma)
    gaps = z_vals[:, 1:] - z_vals[:, :-1]
    gaps = jnp.concatenate([gaps, jnp.full_like(gaps[:, :1], 1.0)], axis=-1)
    alpha = 1.0 - jnp.exp(-sigma * gaps)
    clear = jnp.cumprod(1.0 - alpha[:, :-1] + 1e-10, axis=-1)
    transparency = jnp.concatenate([jnp.ones_like(clear[:, :1]), clear], axis=-1)
    weights = alpha * transparency
    return jnp.sum(weights[..., None] * rgb, axis=-2)


def get_rays(step, batch_size=32):
    """Rays through a ball with a coloured surface, in the dark."""
    rng = np.random.RandomState(step)
    origins = rng.uniform(-0.6, 0.6, size=(batch_size, 3))
    origins[:, 2] = -1.5
    directions = np.tile(np.array([0.0, 0.0, 1.0]), (batch_size, 1))
    hit = np.sum(origins[:, :2] ** 2, axis=-1, keepdims=True) < 0.12
    pixels = np.where(hit, [0.8, 0.6, 0.4] + origins * [0.3, 0.3, 0.0], 0.0)
    rays = (origins.astype(np.float32), directions.astype(np.float32))
    return {"rays": rays, "pixels": pixels.astype(np.float32)}
