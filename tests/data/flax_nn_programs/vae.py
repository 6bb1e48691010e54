# Stands for: variational autoencoders before Linen, with encode and generate as methods.
import argparse

import jax
import jax.numpy as jnp
import numpy as np
from flax import nn, optim, serialization
from flax.training import checkpoints
from jax import random


class Encoder(nn.Module):
    def apply(self, x, latents):
        x = nn.relu(nn.Dense(x, 24, name="fc1"))
        return nn.Dense(x, latents, name="fc2_mean"), nn.Dense(x, latents, name="fc2_logvar")


class Decoder(nn.Module):
    def apply(self, z):
        z = nn.relu(nn.Dense(z, 24, name="fc1"))
        return nn.Dense(z, 16, name="fc2")


class VAE(nn.Module):
    def apply(self, x, z_rng, latents=4):
        decoder = self._create_decoder()
        mean, logvar = Encoder(x, latents, name="encoder")
        noise = random.normal(z_rng, logvar.shape)
        return decoder(mean + jnp.exp(0.5 * logvar) * noise), mean, logvar

    @nn.module_method
    def generate(self, z, **unused_kwargs):
        return nn.sigmoid(self._create_decoder()(z))

    def _create_decoder(self):
        return Decoder.shared(name="decoder")


@jax.jit
def train_step(optimizer, batch, z_rng):
    def loss_fn(model):
        recon, mean, logvar = model(batch, z_rng)
        log_p = nn.log_sigmoid(recon)
        bce = -jnp.sum(batch * log_p + (1 - batch) * jnp.log(-jnp.expm1(log_p)), -1).mean()
        kld = -0.5 * jnp.sum(1 + logvar - mean**2 - jnp.exp(logvar), -1).mean()
        return bce + kld

    loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
    return optimizer.apply_gradient(grad), loss


def get_batch(step):
    rng = np.random.RandomState(step)
    rows = np.random.RandomState(0).rand(6, 16) > 0.5
    return jnp.asarray(rows[rng.randint(6, size=32)], jnp.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--save_every", type=int)
    args = parser.parse_args()
    rng, key = random.split(random.PRNGKey(0))
    module = VAE.partial(latents=3)
    _, params = module.init(key, get_batch(0), rng)
    optimizer = optim.Adam(learning_rate=3e-3, beta1=0.8).create(nn.Model(module, params))
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)
    for step in range(int(optimizer.state.step), args.steps):
        optimizer, loss = train_step(optimizer, get_batch(step), random.fold_in(rng, step))
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, optimizer, step + 1)
    sample = optimizer.target.generate(random.normal(rng, (2, 3)))
    with open(args.workdir + "/final.msgpack", "wb") as f:
        f.write(serialization.to_bytes({"optimizer": optimizer, "sample": sample}))


if __name__ == "__main__":
    main()
