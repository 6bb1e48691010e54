# Stands for: the Wasserstein GANs in Linen, a critic with clipped weights, RMSProp for both.
import argparse
import os

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import optim
from flax.core import FrozenDict
from flax.training import checkpoints

LATENTS, PIXELS = 6, 8


class Generator(nn.Module):
    train: bool = True

    @nn.compact
    def __call__(self, z):
        x = nn.Dense(4 * 4 * 8, use_bias=False)(z)
        x = jnp.reshape(x, newshape=(-1, 4, 4, 8))
        x = nn.BatchNorm(use_running_average=not self.train, momentum=0.8)(x)
        x = nn.ConvTranspose(8, (3, 3), strides=(2, 2), use_bias=False)(nn.swish(x))
        x = nn.BatchNorm(use_running_average=not self.train, momentum=0.8)(x)
        return nn.tanh(nn.Conv(1, (3, 3))(nn.swish(x)))


class Critic(nn.Module):
    @nn.compact
    def __call__(self, x):
        for size in (8, 16):
            x = nn.swish(nn.Conv(size, (3, 3), strides=(2, 2))(x))
        return jnp.squeeze(nn.Dense(1)(x.reshape((x.shape[0], -1))), axis=-1)


@flax.struct.dataclass
class GANState:
    generator: optim.Optimizer
    critic: optim.Optimizer
    average: FrozenDict
    batch_stats: FrozenDict


def generate(params, batch_stats, z):
    variables = {"params": params, "batch_stats": batch_stats}
    return Generator().apply(variables, z, mutable=["batch_stats"])


def gradient_penalty(critic_params, real, fake, mix):
    inputs = mix * real + (1 - mix) * fake
    grads = jax.vmap(jax.grad(lambda x: Critic().apply({"params": critic_params}, x[None])[0]))
    norms = jnp.sqrt(jnp.sum(jnp.square(grads(inputs)), axis=(1, 2, 3)) + 1e-6)
    return jnp.mean((norms - 1.0) ** 2)


def critic_step(state, real, rng):
    z_rng, mix_rng = jax.random.split(rng)
    z = jax.random.normal(z_rng, (real.shape[0], LATENTS))
    fake, updated = generate(state.generator.target, state.batch_stats, z)
    mix = jax.random.uniform(mix_rng, (real.shape[0], 1, 1, 1))

    def loss_fn(params):
        distance = jnp.mean(Critic().apply({"params": params}, real)) - jnp.mean(
            Critic().apply({"params": params}, fake)
        )
        return 0.1 * gradient_penalty(params, real, fake, mix) - distance

    grad = jax.grad(loss_fn)(state.critic.target)
    critic = state.critic.apply_gradient(grad)
    clipped = jax.tree_map(lambda w: jnp.clip(w, a_min=-0.3, a_max=0.3), critic.target)
    return state.replace(critic=critic.replace(target=clipped), batch_stats=updated["batch_stats"])


def generator_step(state, rng, batch_size):
    z = jax.random.normal(rng, (batch_size, LATENTS))

    def loss_fn(params):
        fake, updated = generate(params, state.batch_stats, z)
        return -jnp.mean(Critic().apply({"params": state.critic.target}, fake)), (updated, fake)

    grad, (updated, fake) = jax.grad(loss_fn, has_aux=True)(state.generator.target)
    generator = state.generator.apply_gradient(grad)
    average = jax.tree_multimap(
        lambda old, new: 0.9 * old + 0.1 * new, state.average, generator.target
    )
    state = state.replace(generator=generator, average=average, batch_stats=updated["batch_stats"])
    return state, fake


@jax.partial(jax.jit, static_argnums=(3,))
def train_step(state, real, rng, critic_updates):
    rng, *keys = jax.random.split(rng, critic_updates + 1)
    for key in keys:
        state = critic_step(state, real, key)
    state, fake = generator_step(state, rng, real.shape[0])
    # How far the middle image is from that of the data, for a person to look at.
    return state, jnp.mean((jnp.mean(fake, axis=0) - jnp.mean(real, axis=0)) ** 2)


def get_batch(step, batch_size=16):
    rng = np.random.RandomState(step)
    base = np.random.RandomState(0).randn(2, PIXELS, PIXELS, 1)
    noise = 0.2 * rng.randn(batch_size, PIXELS, PIXELS, 1)
    return np.tanh(base[rng.randint(2, size=batch_size)] + noise).astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--save_every", type=int, default=100)
    args = parser.parse_args()

    rng, key_g, key_c = jax.random.split(jax.random.PRNGKey(3), 3)
    batch_stats, params_g = jax.jit(Generator().init)(key_g, jnp.ones((1, LATENTS))).pop("params")
    params_c = jax.jit(Critic().init)(key_c, get_batch(0))["params"]
    optimizer_def = optim.RMSProp(learning_rate=3e-3, beta2=0.9, eps=1e-5)
    state = GANState(
        generator=optimizer_def.create(params_g),
        critic=optimizer_def.create(params_c),
        average=params_g,
        batch_stats=batch_stats["batch_stats"],
    )
    state = checkpoints.restore_checkpoint(args.workdir, state, prefix="gan_")
    for step in range(int(state.generator.state.step), args.steps):
        state, loss = train_step(state, get_batch(step), jax.random.fold_in(rng, step), 2)
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, state, step + 1, prefix="gan_", keep=1)

    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(state))


if __name__ == "__main__":
    main()
