from functools import partial
from typing import Any

import flax.linen as nn
import jax.numpy as jnp


class Generator(nn.Module):
    width: int = 16
    channels: int = 1

    @nn.compact
    def __call__(self, z, train: bool = True):
        norm = partial(nn.BatchNorm, use_running_average=not train, momentum=0.9, axis_name="batch")
        x = nn.Dense(2 * 2 * self.width)(z)
        x = x.reshape((z.shape[0], 2, 2, self.width))
        x = nn.relu(norm()(x))
        x = nn.ConvTranspose(self.width // 2, (3, 3), strides=(2, 2))(x)
        x = nn.relu(norm()(x))
        return nn.tanh(nn.Conv(self.channels, (3, 3))(x))


class Discriminator(nn.Module):
    width: int = 8
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x):
        x = nn.leaky_relu(nn.Conv(self.width, (3, 3), strides=(2, 2))(x), 0.2)
        x = nn.leaky_relu(nn.Conv(2 * self.width, (3, 3))(x), 0.2)
        return nn.Dense(1)(x.reshape((x.shape[0], -1)))[:, 0]
