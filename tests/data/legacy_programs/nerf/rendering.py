# Stands for: the model and rendering modules beside the trainers of NeRF repositories.
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

NUM_SAMPLES, NEAR, FAR = 8, 0.5, 2.5


def positional_encoding(x, degrees=2):
    scales = jnp.array([2.0**i for i in range(degrees)])
    angles = jnp.reshape(x[..., None, :] * scales[:, None], x.shape[:-1] + (-1,))
    return jnp.concatenate([x, jnp.sin(angles), jnp.cos(angles)], axis=-1)


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.softplus(nn.Dense(24)(x))
        return nn.Dense(3, name="rgb")(x), nn.Dense(1, name="sigma")(x)[..., 0]


class NerfModel(nn.Module):
    def setup(self):
        self.coarse = MLP()
        self.fine = MLP()

    def __call__(self, rng: jax.random.KeyArray, rays):
        origins, directions = rays
        rgbs = []
        for i, mlp in enumerate((self.coarse, self.fine)):
            jitter = jax.random.uniform(jax.random.fold_in(rng, i), (len(origins), NUM_SAMPLES))
            z_vals = NEAR + (FAR - NEAR) * (jnp.arange(NUM_SAMPLES) + jitter) / NUM_SAMPLES
            points = origins[:, None, :] + z_vals[..., None] * directions[:, None, :]
            rgbs.append(volumetric_rendering(*mlp(positional_encoding(points))))
        return rgbs


def volumetric_rendering(raw_rgb, raw_sigma):
    alpha = 1.0 - jnp.exp(-nn.softplus(raw_sigma) * (FAR - NEAR) / NUM_SAMPLES)
    passed = jnp.cumprod(1.0 - alpha, axis=-1) / (1.0 - alpha)
    return jnp.sum((alpha * passed)[..., None] * nn.sigmoid(raw_rgb), axis=-2)


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
