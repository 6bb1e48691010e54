# Stands for: the fine-tuning script of vision transformer repositories.
import argparse
import functools
import os

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import momentum_clip
import numpy as np
from flax.training import checkpoints as flax_checkpoints

NUM_CLASSES = 4
dense = functools.partial(nn.Dense, kernel_init=nn.initializers.xavier_uniform())


class EncoderBlock(nn.Module):
    @nn.compact
    def __call__(self, inputs):
        x = nn.LayerNorm()(inputs)
        x = nn.MultiHeadDotProductAttention(
            num_heads=2, kernel_init=nn.initializers.xavier_uniform()
        )(x, x)
        x = x + inputs
        y = dense(32)(nn.LayerNorm()(x))
        return x + dense(16)(nn.gelu(y))


class VisionTransformer(nn.Module):
    @nn.compact
    def __call__(self, images):
        x = nn.Conv(16, (4, 4), strides=(4, 4), padding="VALID", name="embedding")(images)
        x = x.reshape((x.shape[0], -1, 16))
        cls = self.param("cls", nn.initializers.zeros, (1, 1, 16))
        x = jnp.concatenate([jnp.tile(cls, (x.shape[0], 1, 1)), x], axis=1)
        x = x + self.param("pos_embedding", nn.initializers.normal(0.02), (1,) + x.shape[1:])
        x = nn.LayerNorm(name="encoder_norm")(EncoderBlock()(x))
        return nn.Dense(NUM_CLASSES, name="head", kernel_init=nn.initializers.zeros)(x[:, 0])


def make_update_fn(apply_fn, accum_steps):
    @functools.partial(jax.jit, donate_argnums=(0,))
    def update_fn(opt, batch, lr):
        def loss_fn(params, images, labels):
            logp = jax.nn.log_softmax(apply_fn({"params": params}, images))
            return -jnp.mean(jnp.sum(logp * jax.nn.one_hot(labels, NUM_CLASSES), axis=1))

        loss, g = accumulate_gradient(
            jax.value_and_grad(loss_fn), opt.target, batch["image"], batch["label"], accum_steps
        )
        return opt.apply_gradient(g, learning_rate=lr), loss

    return update_fn


def accumulate_gradient(loss_and_grad_fn, params, images, labels, accum_steps):
    """Average loss and gradient over parts of a batch."""
    size = images.shape[0] // accum_steps
    loss_and_grad = loss_and_grad_fn(params, images[:size], labels[:size])

    def acc_grad_and_loss(i, loss_and_grad):
        imgs = jax.lax.dynamic_slice(images, (i * size, 0, 0, 0), (size,) + images.shape[1:])
        lbls = jax.lax.dynamic_slice(labels, (i * size,), (size,))
        new = loss_and_grad_fn(params, imgs, lbls)
        return jax.tree_multimap(lambda x, y: x + y, loss_and_grad, new)

    loss_and_grad = jax.lax.fori_loop(1, accum_steps, acc_grad_and_loss, loss_and_grad)
    return jax.tree_map(lambda x: x / accum_steps, loss_and_grad)


def learning_rate_at(step, base, total, warmup_steps=3):
    progress = np.clip((step - warmup_steps) / float(total - warmup_steps), 0.0, 1.0)
    lr = base * 0.5 * (1.0 + np.cos(np.pi * progress))
    return np.asarray(lr * np.minimum(1.0, (step + 1) / warmup_steps), dtype=np.float32)


def get_batch(step, batch_size=32):
    templates = np.random.RandomState(0).normal(size=(NUM_CLASSES, 8, 8, 3))
    rng = np.random.RandomState(step + 1)
    label = rng.randint(NUM_CLASSES, size=(batch_size,))
    image = templates[label] + 0.5 * rng.normal(size=(batch_size, 8, 8, 3))
    return dict(image=image.astype(np.float32), label=label.astype(np.int32))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--save_every", type=int, default=100)
    parser.add_argument("--base_lr", type=float, default=0.1)
    parser.add_argument("--optim_dtype", default="bfloat16", choices=["bfloat16", "float32"])
    args = parser.parse_args()

    model = VisionTransformer()
    variables = jax.jit(model.init)(jax.random.PRNGKey(0), get_batch(0)["image"])
    opt_def = momentum_clip.Optimizer(dtype=args.optim_dtype, grad_norm_clip=1.0)
    opt = opt_def.create(variables["params"])
    initial_step = 1
    opt, initial_step = flax_checkpoints.restore_checkpoint(args.workdir, (opt, initial_step))

    update_fn = make_update_fn(model.apply, accum_steps=2)
    for step in range(int(initial_step) - 1, args.steps):
        lr = learning_rate_at(step, args.base_lr, args.steps)
        opt, loss = update_fn(opt, get_batch(step), lr)
        print(f"step {step} loss {loss:.5f} lr {lr:.4f}", flush=True)
        if (step + 1) % args.save_every == 0:
            flax_checkpoints.save_checkpoint(args.workdir, (opt, step + 2), step + 1, keep=2)

    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(opt))


if __name__ == "__main__":
    main()
