import flax.linen as nn
import jax
import jax.numpy as jnp


class ConvNet(nn.Module):
    num_classes: int = 3

    @nn.compact
    def __call__(self, x, train: bool = False):
        x = nn.Conv(4, (3, 3), strides=(2, 2))(x)
        x = nn.relu(nn.BatchNorm(use_running_average=not train, momentum=0.9, name="bn_init")(x))
        x = nn.Dropout(0.1, deterministic=not train)(x.reshape((x.shape[0], -1)))
        return nn.Dense(self.num_classes)(x)


def cross_entropy(logits, targets):
    one_hot = jax.nn.one_hot(targets, logits.shape[-1])
    return -jnp.mean(jnp.sum(one_hot * jax.nn.log_softmax(logits), axis=-1))
