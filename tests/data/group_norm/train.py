"""Train a small model with GroupNorm up to a step: ``train.py STEP FROM TO``; FROM may be -."""

import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import optim, serialization


class Model(nn.Module):
    @nn.compact
    def __call__(self, images):
        x = nn.Conv(8, (3, 3))(images)
        x = nn.relu(nn.GroupNorm(num_groups=4)(x))
        x = nn.Dense(6)(x.mean((1, 2)))
        return nn.Dense(3)(nn.GroupNorm(num_groups=2)(x))


def batch(step):
    random = np.random.RandomState(step)
    images = random.randn(16, 8, 8, 2).astype(np.float32)
    return jnp.asarray(images), jnp.asarray(images[:, 2, 3:6, 0])


@jax.jit
def train_step(optimizer, average, images, targets):
    def loss_fn(params):
        return jnp.mean((Model().apply({"params": params}, images) - targets) ** 2)

    optimizer = optimizer.apply_gradient(jax.grad(loss_fn)(optimizer.target))
    average = jax.tree_util.tree_map(lambda a, p: 0.9 * a + 0.1 * p, average, optimizer.target)
    return optimizer, average


def parameters():
    return Model().init(jax.random.PRNGKey(0), batch(0)[0])["params"]


def main(last, source, destination):
    params = parameters()
    state = {"optimizer": optim.Adam(learning_rate=0.01).create(params), "average": params}
    if source != "-":
        with open(source, "rb") as file:
            state = serialization.from_bytes(state, file.read())
    while state["optimizer"].state.step < last:
        step = int(state["optimizer"].state.step)
        optimizer, average = train_step(state["optimizer"], state["average"], *batch(step))
        state = {"optimizer": optimizer, "average": average}
    with open(destination, "wb") as file:
        file.write(serialization.to_bytes(state))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
