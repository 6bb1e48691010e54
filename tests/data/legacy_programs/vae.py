# Stands for: the VAE examples, Adam that is moved to the device by hand.
import argparse
import os

import flax
import jax
import numpy as np
from flax import linen as nn
from flax import optim
from flax.training import checkpoints
from jax import numpy as jnp
from jax import random

PIXELS = 36


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", type=str, required=True)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--save_every", type=int, default=10)
    parser.add_argument("--learning_rate", type=float, default=1e-2)
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--latents", type=int, default=3)
    return parser.parse_args()


class Encoder(nn.Module):
    latents: int

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(24, name="fc1")(x)
        x = nn.tanh(x)
        mean_x = nn.Dense(self.latents, name="fc2_mean")(x)
        logvar_x = nn.Dense(self.latents, name="fc2_logvar")(x)
        return mean_x, logvar_x


class Decoder(nn.Module):
    @nn.compact
    def __call__(self, z):
        z = nn.Dense(24, name="fc1")(z)
        z = nn.tanh(z)
        return nn.Dense(PIXELS, name="fc2")(z)


class VAE(nn.Module):
    latents: int = 3

    def setup(self):
        self.encoder = Encoder(self.latents)
        self.decoder = Decoder()

    def __call__(self, x, z_rng):
        mean, logvar = self.encoder(x)
        z = mean + jnp.exp(0.5 * logvar) * random.normal(z_rng, logvar.shape)
        return self.decoder(z), mean, logvar


@jax.vmap
def kl_to_standard_normal(mean, logvar):
    return 0.5 * jnp.sum(jnp.exp(logvar) + mean**2 - 1.0 - logvar)


@jax.vmap
def bernoulli_cost(logits, labels):
    return jnp.sum(nn.softplus(logits) - labels * logits)


def make_train_step(model):
    @jax.jit
    def train_step(optimizer: optim.Optimizer, batch: jnp.DeviceArray, z_rng):
        def loss_fn(params):
            recon_x, mean, logvar = model.apply({"params": params}, batch, z_rng)
            cost = bernoulli_cost(recon_x, batch).mean()
            return cost + kl_to_standard_normal(mean, logvar).mean()

        loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
        return optimizer.apply_gradient(grad), loss

    return train_step


def load_data():
    rs = np.random.RandomState(7)
    shapes = rs.uniform(size=(6, PIXELS)) > 0.5
    flips = rs.uniform(size=(512, PIXELS)) < 0.05
    return np.logical_xor(shapes[rs.randint(6, size=512)], flips).astype(np.float32)


def main():
    args = get_args()
    images = load_data()
    model = VAE(latents=args.latents)
    key = random.PRNGKey(0)
    init_data = jnp.ones((args.batch_size, PIXELS), jnp.float32)
    params = model.init(key, init_data, random.PRNGKey(1))["params"]

    optimizer = optim.Adam(learning_rate=args.learning_rate).create(params)
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)
    optimizer = jax.device_put(optimizer)

    train_step = make_train_step(model)
    for step in range(int(optimizer.state.step), args.steps):
        batch_rng, z_rng = random.split(random.fold_in(key, step))
        picked = random.randint(batch_rng, (args.batch_size,), 0, len(images))
        optimizer, loss = train_step(optimizer, images[np.asarray(picked)], z_rng)
        print("step {} loss {:.4f}".format(step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, optimizer, optimizer.state.step, keep=3)

    flat = flax.traverse_util.flatten_dict(flax.serialization.to_state_dict(optimizer))
    arrays = {"/".join(path): np.asarray(value) for path, value in flat.items()}
    np.savez(os.path.join(args.workdir, "final.npz"), **arrays)


if __name__ == "__main__":
    main()
