import jax
import jax.numpy as jnp

from gan.losses import get_losses


def sample_noise(rng, count, dim):
    return jax.random.normal(rng, (count, dim))


def generator_step(models, loss_fn, gen_opt, disc_opt, gen_stats, rng, batch, lr):
    generator, discriminator = models

    def loss(params):
        z = sample_noise(rng, batch.shape[0], 4)
        fake, mutated = generator.apply({"params": params, **gen_stats}, z, mutable=["batch_stats"])
        logits = discriminator.apply({"params": disc_opt.target}, fake)
        return loss_fn(logits), mutated

    (value, gen_stats), grad = jax.value_and_grad(loss, has_aux=True)(gen_opt.target)
    grad = jax.lax.pmean(grad, "batch")
    return gen_opt.apply_gradient(grad, learning_rate=lr), gen_stats, value


def discriminator_step(models, loss_fn, gen_opt, disc_opt, gen_stats, rng, batch, lr):
    generator, discriminator = models
    z = sample_noise(rng, batch.shape[0], 4)
    fake, _ = generator.apply({"params": gen_opt.target, **gen_stats}, z, mutable=["batch_stats"])

    def loss(params):
        logits_real = discriminator.apply({"params": params}, batch)
        logits_fake = discriminator.apply({"params": params}, fake)
        return loss_fn(logits_real, logits_fake)

    value, grad = jax.value_and_grad(loss)(disc_opt.target)
    grad = jax.lax.pmean(grad, "batch")
    new_disc_opt = disc_opt.apply_gradient(grad, learning_rate=2.0 * lr)
    return new_disc_opt, value


def make_train_step(models, loss_name, disc_steps):
    generator_loss, discriminator_loss = get_losses(loss_name)

    def train_step(optimizers, gen_stats, rng, batch, lr):
        gen_opt, disc_opt = optimizers
        rng = jax.random.fold_in(rng, jax.lax.axis_index("batch"))
        *disc_rngs, gen_rng = jax.random.split(rng, disc_steps + 1)
        for disc_rng in disc_rngs:
            disc_opt, disc_value = discriminator_step(
                models, discriminator_loss, gen_opt, disc_opt, gen_stats, disc_rng, batch, lr
            )
        gen_opt, gen_stats, gen_value = generator_step(
            models, generator_loss, gen_opt, disc_opt, gen_stats, gen_rng, batch, lr
        )
        metrics = {"generator": gen_value, "discriminator": disc_value}
        metrics = jax.lax.pmean(metrics, axis_name="batch")
        return (gen_opt, disc_opt), gen_stats, metrics

    return train_step


def clip_weights(optimizer, limit):
    clipped = jax.tree_map(lambda p: jnp.clip(p, -limit, limit), optimizer.target)
    return optimizer.replace(target=clipped)
