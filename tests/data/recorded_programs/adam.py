"""A linear regression with Adam, in both forms that can be recorded."""

import jax
import jax.numpy as jnp
import numpy as np

try:
    from flax import optim
except ImportError:
    from flaxoptim_compat import optim

rng = np.random.RandomState(0)
x = rng.uniform(-1.0, 1.0, (32, 3)).astype(np.float32)
y = rng.uniform(-1.0, 1.0, (32, 2)).astype(np.float32)


def new_optimizer():
    params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
    return optim.Adam(learning_rate=0.1, weight_decay=0.01).create(params)


def rate_of(i):
    return 0.1 * 0.9**i


@jax.jit
def gradients(params):
    def loss(params):
        return jnp.mean((x @ params["dense"]["kernel"] + params["dense"]["bias"] - y) ** 2)

    return jax.grad(loss)(params)


@jax.jit
def train_step(optimizer, rate):
    return optimizer.apply_gradient(gradients(optimizer.target), learning_rate=rate)


def yields():
    optimizer = new_optimizer()
    for i in range(6):
        grads = gradients(optimizer.target)
        yield optimizer, grads, {"learning_rate": rate_of(i)}
        optimizer = optimizer.apply_gradient(grads, learning_rate=rate_of(i))
    yield (optimizer,)


optimizer = new_optimizer()


def step(i):
    global optimizer
    optimizer = train_step(optimizer, rate_of(i))
