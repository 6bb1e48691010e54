# Stands for: the first JaxNeRF, one MLP for coarse and fine samples of rays.
import argparse
import functools

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import nn, optim, serialization
from flax.training import checkpoints
from jax import random


class MLP(nn.Module):
    """A multi-layer perceptron with a skip connection."""

    def apply(self, x, condition=None, depth=4, width=16, skip_layer=2, activation=nn.relu):
        dense = functools.partial(nn.Dense, kernel_init=jax.nn.initializers.glorot_uniform())
        inputs = x
        for i in range(depth):
            x = activation(dense(x, width))
            if i % skip_layer == 0 and i > 0:
                x = jnp.concatenate([x, inputs], axis=-1)
        sigma = dense(x, 1)
        if condition is not None:
            bottleneck = dense(x, width)
            condition = jnp.broadcast_to(condition[:, None, :], x.shape[:-1] + condition.shape[-1:])
            x = activation(dense(jnp.concatenate([bottleneck, condition], axis=-1), width // 2))
        return nn.sigmoid(dense(x, 3)), sigma[..., 0]


class NerfModel(nn.Module):
    def apply(self, rng, origins, directions, randomized=True):
        key_0, key_1 = random.split(rng)
        ts = jnp.linspace(1.0, 3.0, 6)[None] + jnp.zeros((origins.shape[0], 1))
        if randomized:
            ts = ts + 0.1 * random.uniform(key_0, ts.shape)
        coarse = render(MLP(encode(origins, directions, ts), directions), ts)
        finer = jnp.sort(jnp.concatenate([ts, ts + 0.1 * random.uniform(key_1, ts.shape)], -1), -1)
        fine = render(MLP(encode(origins, directions, finer), directions), finer)
        return coarse, fine


def encode(origins, directions, ts):
    points = origins[:, None] + ts[..., None] * directions[:, None]
    return jnp.concatenate(
        [points] + [f(points * 2**i) for i in range(2) for f in (jnp.sin, jnp.cos)], -1
    )


def render(raw, ts):
    rgb, sigma = raw
    dists = jnp.concatenate([ts[:, 1:] - ts[:, :-1], jnp.ones_like(ts[:, :1])], -1)
    alpha = 1.0 - jnp.exp(-nn.softplus(sigma) * dists)
    shone = jnp.cumprod(1.0 - alpha[:, :-1] + 1e-10, -1)
    weights = alpha * jnp.concatenate([jnp.ones_like(alpha[:, :1]), shone], -1)
    return (weights[..., None] * rgb).sum(-2)


@flax.struct.dataclass
class TrainState:
    optimizer: flax.optim.Optimizer


@jax.jit
def train_step(rng, state, batch, rate):
    rng, key = random.split(rng)

    def loss_fn(model):
        coarse, fine = model(key, batch["origins"], batch["directions"])
        loss = jnp.mean((coarse - batch["pixels"]) ** 2) + jnp.mean((fine - batch["pixels"]) ** 2)
        return loss

    loss, grad = jax.value_and_grad(loss_fn)(state.optimizer.target)
    optimizer = state.optimizer.apply_gradient(grad, learning_rate=rate)
    return state.replace(optimizer=optimizer), loss


def get_batch(step):
    rng = np.random.RandomState(step)
    directions = rng.randn(32, 3)
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    pixels = (directions > 0) * [0.9, 0.5, 0.2]
    batch = {"origins": 0.1 * rng.randn(32, 3), "directions": directions, "pixels": pixels}
    return {k: v.astype(np.float32) for k, v in batch.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--save_every", type=int)
    args = parser.parse_args()
    rng = random.PRNGKey(20200823)
    batch = get_batch(0)
    _, params = NerfModel.init(rng, rng, batch["origins"], batch["directions"])
    optimizer = optim.Adam(0.01).create(nn.Model(NerfModel, params))
    state = TrainState(optimizer=optimizer)
    state = checkpoints.restore_checkpoint(args.workdir, state)
    for step in range(int(state.optimizer.state.step), args.steps):
        rate = 0.02 * 0.5 ** (step / args.steps)
        state, loss = train_step(random.fold_in(rng, step), state, get_batch(step), rate)
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, state, step + 1, keep=100)
    with open(args.workdir + "/final.msgpack", "wb") as f:
        f.write(serialization.to_bytes(state))


if __name__ == "__main__":
    main()
