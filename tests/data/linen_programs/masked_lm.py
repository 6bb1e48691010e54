# Stands for: the BERT-like encoders, attention with positional masks, on all devices with pmap.
import argparse
import os
from functools import partial

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, optim
from flax.training import checkpoints, common_utils

VOCAB, LENGTH, WIDTH, MASK = 16, 8, 16, 0


class Layer(nn.Module):
    """Reads itself, then a small memory that all examples share."""

    @nn.compact
    def __call__(self, x, mask, memory, train):
        y = nn.LayerNorm()(x)
        y = nn.SelfAttention(num_heads=2, dropout_rate=0.1, use_bias=False)(y, mask, not train)
        x = x + y
        memory_mask = jnp.ones((x.shape[0], 1, x.shape[1], memory.shape[1]))
        attention = nn.MultiHeadDotProductAttention(2, use_bias=False, name="memory_attention")
        x = x + attention(nn.LayerNorm()(x), memory, memory_mask, deterministic=True)
        y = nn.gelu(nn.Dense(2 * WIDTH)(nn.LayerNorm()(x)))
        return x + nn.Dense(WIDTH)(y)


class Encoder(nn.Module):
    @nn.compact
    def __call__(self, tokens, lengths, train=True):
        position = jnp.clip(jnp.arange(2 * LENGTH)[: tokens.shape[1]], a_min=1, a_max=LENGTH) - 1
        valid = jnp.arange(LENGTH) < jnp.clip(lengths, a_min=1)[:, None]
        mask = nn.make_attention_mask(valid, valid)
        embed = nn.Embed(VOCAB, WIDTH, name="token_embed")
        memory = self.param("memory", nn.initializers.normal(1.0), (1, 3, WIDTH))
        memory = jnp.broadcast_to(memory, (tokens.shape[0], 3, WIDTH))
        x = embed(tokens) + nn.Embed(LENGTH, WIDTH, name="position_embed")(position)
        for i in range(2):
            x = Layer(name="layer_%d" % i)(x, mask, memory, train)
        return embed.attend(nn.LayerNorm(name="final_norm")(x)), valid


def create_learning_rate_fn(base, warmup):
    def rate(step):
        step = jnp.asarray(step, jnp.float32)
        return (
            base
            * jnp.minimum(1.0, (step + 1) / warmup)
            * jax.lax.rsqrt(jnp.maximum(step + 1, warmup) / warmup)
        )

    return rate


def get_batch(step, batch_size=32):
    """Counts from a random start; a third of the numbers are hidden."""
    rng = np.random.RandomState(step)
    targets = 1 + (rng.randint(VOCAB, size=(batch_size, 1)) + np.arange(LENGTH)) % (VOCAB - 1)
    hidden = rng.uniform(size=targets.shape) < 0.3
    return {
        "tokens": np.where(hidden, MASK, targets),
        "targets": targets,
        "weights": hidden.astype(np.float32),
        "lengths": rng.randint(LENGTH // 2, LENGTH + 1, size=batch_size),
    }


def train_step(optimizer, batch, rng, rate_fn):
    step = optimizer.state.step
    rng = jax.random.fold_in(jax.random.fold_in(rng, step), jax.lax.axis_index("batch"))

    def loss_fn(params):
        logits, valid = Encoder().apply(
            {"params": params}, batch["tokens"], batch["lengths"], rngs={"dropout": rng}
        )
        one_hot = common_utils.onehot(batch["targets"], VOCAB)
        cost = -jnp.sum(one_hot * nn.log_softmax(logits), axis=-1)
        weights = batch["weights"] * valid
        return jnp.sum(cost * weights) / jax.lax.psum(jnp.sum(weights), "batch")

    loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
    loss, grad = jax.lax.psum((loss, grad), axis_name="batch")
    lr = rate_fn(step)
    optimizer = optimizer.apply_gradient(grad, learning_rate=lr, weight_decay=0.1 * lr)
    return optimizer, {"loss": loss, "learning_rate": lr}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--save_every", type=int, default=100)
    args = parser.parse_args()
    assert jax.local_device_count() == 2

    rng, init_rng = jax.random.split(jax.random.PRNGKey(1))
    batch = get_batch(0)
    init = jax.jit(partial(Encoder().init, train=False))
    params = init(init_rng, batch["tokens"], batch["lengths"])["params"]
    optimizer = optim.Adam(beta1=0.9, beta2=0.98, eps=1e-9, weight_decay=1e-1).create(params)
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer, prefix="encoder_")
    start = int(optimizer.state.step)
    optimizer = jax_utils.replicate(optimizer)
    rngs = jax_utils.replicate(rng)

    p_train_step = jax.pmap(
        partial(train_step, rate_fn=create_learning_rate_fn(0.01, 8)),
        axis_name="batch",
        donate_argnums=(0,),
    )
    for step in range(start, args.steps):
        optimizer, metrics = p_train_step(optimizer, common_utils.shard(get_batch(step)), rngs)
        metrics = jax.tree_map(lambda x: x[0], jax.device_get(metrics))
        print("step {:d} loss {:.5f}".format(step, float(metrics["loss"])), flush=True)
        if (step + 1) % args.save_every == 0 and jax.host_id() == 0:
            saved = jax.device_get(jax_utils.unreplicate(optimizer))
            checkpoints.save_checkpoint(args.workdir, saved, step + 1, prefix="encoder_", keep=2)

    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(jax_utils.unreplicate(optimizer)))


if __name__ == "__main__":
    main()
