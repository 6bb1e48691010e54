from typing import Any, Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp

from registry_trainer.registry import LOSSES, MODELS


@MODELS.register("mlp")
class MLP(nn.Module):
    features: Sequence[int]
    classes: int
    act: Any = nn.relu

    @nn.compact
    def __call__(self, x):
        for size in self.features:
            x = self.act(nn.Dense(size)(x))
        return nn.Dense(self.classes)(x)


@MODELS.register("wide")
class WideMLP(MLP):
    act: Any = nn.tanh

    @nn.compact
    def __call__(self, x):
        deep = x
        for size in self.features:
            deep = self.act(nn.Dense(2 * size)(deep))
        return nn.Dense(self.classes)(jnp.concatenate([x, deep], axis=-1))


@MODELS.register("linear")
class Linear(nn.Module):
    features: Sequence[int]
    classes: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.classes)(x)


@LOSSES.register("cross_entropy")
def cross_entropy(logits, labels):
    one_hot = jax.nn.one_hot(labels, logits.shape[-1])
    return -jnp.mean(jnp.sum(one_hot * nn.log_softmax(logits), axis=-1))


@LOSSES.register("squared")
def squared(logits, labels):
    return jnp.mean((logits - jax.nn.one_hot(labels, logits.shape[-1])) ** 2)


def create_model(config):
    return MODELS.get(config.model.name)(features=config.features, classes=config.classes)
