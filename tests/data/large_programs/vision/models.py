import functools
from typing import Any

import flax.linen as nn
import jax.numpy as jnp

ModuleDef = Any


class Block(nn.Module):
    filters: int
    conv: ModuleDef
    norm: ModuleDef

    @nn.compact
    def __call__(self, x):
        residual = x
        y = nn.relu(self.norm()(self.conv(self.filters, (3, 3))(x)))
        y = self.norm(scale_init=nn.initializers.zeros)(self.conv(self.filters, (3, 3))(y))
        if residual.shape != y.shape:
            residual = self.conv(self.filters, (1, 1), name="conv_proj")(residual)
        return nn.relu(residual + y)


class ResNet(nn.Module):
    stages: Any = (1,)
    filters: int = 4
    num_classes: int = 3

    @nn.compact
    def __call__(self, x, train: bool = False):
        conv = functools.partial(nn.Conv, use_bias=False)
        norm = functools.partial(nn.BatchNorm, use_running_average=not train, momentum=0.9)
        x = nn.relu(norm(name="bn_init")(conv(self.filters, (3, 3), name="conv_init")(x)))
        for i, blocks in enumerate(self.stages):
            for _ in range(blocks):
                x = Block(self.filters * 2**i, conv=conv, norm=norm)(x)
        x = nn.Dropout(0.1, deterministic=not train)(jnp.mean(x, axis=(1, 2)))
        return nn.Dense(self.num_classes)(x)


class PlainNet(nn.Module):
    num_classes: int = 3

    @nn.compact
    def __call__(self, x, train: bool = False):
        del train
        x = nn.relu(nn.Conv(4, (3, 3), strides=(2, 2))(x))
        return nn.Dense(self.num_classes)(x.reshape((x.shape[0], -1)))


def get_model(name, **kwargs):
    return {"resnet": ResNet, "plain": PlainNet}[name](**kwargs)
