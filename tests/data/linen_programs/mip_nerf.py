# Stands for: the radiance fields of cones, rematerialised, in chunks.
import argparse
import functools
import os

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from flax import optim
from flax.training import checkpoints
from jax import random

NUM_SAMPLES, DEGREES, SIZE = 8, 4, 6


class MLP(nn.Module):
    width: int = 24

    @nn.compact
    def __call__(self, x):
        inputs = x
        for i in range(3):
            x = nn.softplus(nn.Dense(self.width, kernel_init=nn.initializers.glorot_uniform())(x))
            if i == 1:
                x = jnp.concatenate([x, inputs], axis=-1)
        return nn.Dense(1, name="density")(x)[..., 0], nn.Dense(3, name="rgb")(x)


def integrated_encoding(mean, var):
    scales = 2.0 ** jnp.arange(DEGREES)
    shape = mean.shape[:-1] + (-1,)
    y = jnp.reshape(mean[..., None, :] * scales[:, None], newshape=shape)
    y_var = jnp.reshape(var[..., None] * scales**2, newshape=shape)
    weight = jnp.exp(-0.5 * jnp.repeat(y_var, 3, axis=-1))
    return jnp.concatenate([weight * jnp.sin(y), weight * jnp.cos(y)], axis=-1)


# The first argument says whether there is Python control flow on values, of which there is none.
@functools.partial(jax.checkpoint, concrete=False)
def render_rays(params, origins, directions, t_vals):
    middle = 0.5 * (t_vals[..., 1:] + t_vals[..., :-1])
    delta = t_vals[..., 1:] - t_vals[..., :-1]
    mean = origins[:, None] + middle[..., None] * directions[:, None]
    density, raw_rgb = MLP().apply({"params": params}, integrated_encoding(mean, delta**2 / 12))
    alpha = 1.0 - jnp.exp(-nn.softplus(density) * delta)
    passed = jnp.cumprod(1.0 - alpha + 1e-6, axis=-1)
    # What is seen first, nothing has dimmed.
    passed = jax.ops.index_update(
        jnp.roll(passed, 1, axis=-1), jax.ops.index[:, 0], jnp.ones_like(passed[:, 0])
    )
    return jnp.sum((alpha * passed)[..., None] * nn.sigmoid(raw_rgb), axis=-2)


def predict(params, rays, jitter):
    return render_rays(params, *rays, jnp.linspace(1.0, 3.0, NUM_SAMPLES + 1) + jitter)


@jax.jit
def train_step(optimizer, rays, colors, jitter, lr):
    def loss_fn(params):
        errors = jnp.sum((predict(params, rays, jitter) - colors) ** 2, axis=-1)
        # Rays that nothing explains yet do not decide the step.
        limit = jax.lax.stop_gradient(jnp.percentile(errors, 90, interpolation="lower"))
        return jnp.mean(jnp.where(errors > limit, limit, errors))

    loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
    return optimizer.apply_gradient(grad, learning_rate=lr), loss


def get_batch(step, batch_size=48):
    """Rays at a ball in front of a coloured wall."""
    rng = np.random.RandomState(step)
    pixels = rng.uniform(-1, 1, size=(batch_size, 2))
    directions = np.concatenate([0.4 * pixels, np.ones((batch_size, 1))], axis=-1)
    origins = np.zeros((batch_size, 3))
    inside = np.sum(pixels**2, axis=-1, keepdims=True) < 0.5
    wall = np.stack([0.5 + 0.4 * pixels[:, 0], 0.2 + 0 * pixels[:, 0], 0.8 + 0 * pixels[:, 0]], -1)
    colors = np.where(inside, np.array([0.9, 0.7, 0.1]), wall)
    jitter = rng.uniform(0, 0.1, size=(batch_size, NUM_SAMPLES + 1))
    rays = origins.astype(np.float32), directions.astype(np.float32)
    return rays, colors.astype(np.float32), jitter.astype(np.float32)


def learning_rate_decay(step, max_steps, lr_init=2e-2, lr_final=2e-3):
    t = np.clip(step / max_steps, a_min=0, a_max=1)
    return float(np.exp((1 - t) * np.log(lr_init) + t * np.log(lr_final)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--save_every", type=int, default=50)
    args = parser.parse_args()

    inputs = jnp.ones((1, 1, 2 * 3 * DEGREES))
    params = MLP().init(random.PRNGKey(20211003), inputs)["params"]
    optimizer = optim.Adam(learning_rate=None, eps=1e-6).create(params)
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)
    for step in range(int(optimizer.state.step), args.steps):
        lr = learning_rate_decay(step, args.steps)
        optimizer, loss = train_step(optimizer, *get_batch(step), lr)
        assert loss.device() == jax.local_devices()[0]
        print("step %d loss %.6f" % (step, loss.to_py()), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, optimizer, step + 1, keep=100)

    rays, _, jitter = get_batch(0, SIZE * SIZE)
    image = jax.jit(predict)(optimizer.target, rays, jitter)
    saved = {"optimizer": optimizer, "image": image.to_py().reshape((SIZE, SIZE, 3))}
    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(saved))


if __name__ == "__main__":
    main()
