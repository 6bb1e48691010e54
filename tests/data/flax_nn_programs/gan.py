# Stands for: GANs before Linen, two models with an optimizer and statistics each.
import argparse

import jax
import jax.numpy as jnp
import numpy as np
from flax import nn, optim, serialization
from flax.training import checkpoints
from jax import random


class Generator(nn.Module):
    def apply(self, z, train=True):
        x = nn.Dense(z, 2 * 2 * 8).reshape((-1, 2, 2, 8))
        x = nn.relu(nn.BatchNorm(x, use_running_average=not train, momentum=0.8))
        x = nn.ConvTranspose(x, 8, kernel_size=(3, 3), strides=(2, 2), bias=False)
        x = nn.leaky_relu(nn.GroupNorm(x, num_groups=2), 0.2)
        return nn.tanh(nn.ConvTranspose(x, 1, kernel_size=(3, 3), strides=(2, 2)))


class Discriminator(nn.Module):
    def apply(self, x, train=True):
        for size in (4, 8):
            x = nn.Conv(x, size, kernel_size=(3, 3), strides=(2, 2))
            x = nn.leaky_relu(nn.LayerNorm(x), 0.2)
        x = nn.dropout(x, 0.2, deterministic=not train)
        return nn.Dense(x.reshape((x.shape[0], -1)), 1)


def bce(logits, label):
    return jnp.mean(nn.softplus(logits) - label * logits)


@jax.jit
def train_step(both, stats, real, rng):
    z_rng, drop_rng = random.split(rng)
    z = random.normal(z_rng, (real.shape[0], 5))
    opt_g, opt_d = both

    def loss_g(model):
        with nn.stateful(stats) as new_stats:
            fake = model(z)
        with nn.stochastic(drop_rng):
            return bce(opt_d.target(fake), 1.0), (fake, new_stats)

    (_, (fake, stats)), grad_g = jax.value_and_grad(loss_g, has_aux=True)(opt_g.target)

    def loss_d(model):
        with nn.stochastic(drop_rng):
            return bce(model(real), 0.9) + bce(model(fake), 0.0)

    value_d, grad_d = jax.value_and_grad(loss_d)(opt_d.target)
    both = opt_g.apply_gradient(grad_g), opt_d.apply_gradient(grad_d)
    return both, stats, value_d


def get_batch(step):
    rng = np.random.RandomState(step)
    base = np.random.RandomState(0).randn(1, 8, 8, 1)
    return np.tanh(base + 0.1 * rng.randn(16, 8, 8, 1)).astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--save_every", type=int)
    args = parser.parse_args()
    rng, key_g, key_d = random.split(random.PRNGKey(0), 3)
    with nn.stateful() as stats:
        fake, params_g = Generator.init(key_g, jnp.ones((2, 5)))
    with nn.stochastic(rng):
        _, params_d = Discriminator.init(key_d, fake)
    both = (
        optim.Momentum(learning_rate=0.02, beta=0.5).create(nn.Model(Generator, params_g)),
        optim.Momentum(learning_rate=0.02, beta=0.5).create(nn.Model(Discriminator, params_d)),
    )
    both, stats = checkpoints.restore_checkpoint(args.workdir, (both, stats))
    for step in range(int(both[0].state.step), args.steps):
        both, stats, loss = train_step(both, stats, get_batch(step), random.fold_in(rng, step))
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, (both, stats), step + 1, keep=2)
    with nn.stateful(stats, mutable=False):
        sample = both[0].target(jnp.ones((2, 5)), train=False)
    with open(args.workdir + "/final.msgpack", "wb") as f:
        f.write(serialization.to_bytes({"g": both[0], "d": both[1], "s": stats, "x": sample}))


if __name__ == "__main__":
    main()
