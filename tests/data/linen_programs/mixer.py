# Stands for: the image classifiers of patches, groups of parameters, a schedule of the time.
import argparse
import os

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, optim, traverse_util
from flax.training import checkpoints, common_utils, lr_schedule

NUM_CLASSES, IMAGE, PATCH, WIDTH = 5, 8, 4, 16
STEPS_PER_EPOCH = 5


class MlpBlock(nn.Module):
    mlp_dim: int

    @nn.compact
    def __call__(self, x):
        y = nn.gelu(nn.Dense(self.mlp_dim)(x))
        return nn.Dense(x.shape[-1], use_bias=False)(y)


class MixerBlock(nn.Module):
    tokens_dim: int
    channels_dim: int

    @nn.compact
    def __call__(self, x):
        y = jnp.swapaxes(nn.LayerNorm()(x), 1, 2)
        x = x + jnp.swapaxes(MlpBlock(self.tokens_dim, name="token_mixing")(y), 1, 2)
        return x + MlpBlock(self.channels_dim, name="channel_mixing")(nn.LayerNorm()(x))


class MlpMixer(nn.Module):
    num_blocks: int = 2

    @nn.compact
    def __call__(self, images):
        x = nn.Conv(WIDTH, (PATCH, PATCH), strides=(PATCH, PATCH), name="stem")(images)
        x = jnp.reshape(x, newshape=(x.shape[0], -1, WIDTH))
        for i in range(self.num_blocks):
            x = MixerBlock(8, 2 * WIDTH, name="block_%d" % i)(x)
        x = jnp.mean(nn.LayerNorm(name="pre_head_norm")(x), axis=1)
        return nn.Dense(NUM_CLASSES, kernel_init=nn.initializers.zeros, name="head")(x)


def decay_mask(params):
    """True where weights decay, as the masks of other libraries want it."""
    flat = traverse_util.flatten_dict(params.unfreeze())
    mask = {path: path[-1] == "kernel" and path[0] != "head" for path in flat}
    return flax.core.freeze(traverse_util.unflatten_dict(mask))


def make_optimizer_def(params, weight_decay):
    mask = traverse_util.flatten_dict(decay_mask(params).unfreeze())
    decayed = {"/" + "/".join(path) for path, decays in mask.items() if decays}
    # The stem is random and stays so: nothing matches it.
    kernels = optim.ModelParamTraversal(lambda p, _: p in decayed and "stem" not in p)
    rest = optim.ModelParamTraversal(lambda p, _: p not in decayed and "stem" not in p)
    return optim.MultiOptimizer(
        (kernels, optim.Momentum(beta=0.9, weight_decay=weight_decay, nesterov=True)),
        (rest, optim.Momentum(beta=0.9, nesterov=True)),
    )


def train_step(optimizer, batch, lr):
    def loss_fn(params):
        logits = MlpMixer().apply({"params": params}, batch["image"])
        one_hot = common_utils.onehot(batch["label"], NUM_CLASSES, on_value=0.95, off_value=0.0125)
        loss = -jnp.mean(jnp.sum(one_hot * nn.log_softmax(logits), axis=-1))
        order = jnp.argsort(-logits, axis=-1, kind="stable")
        return loss, jnp.mean(order[:, 0] == batch["label"])

    (loss, accuracy), grad = jax.value_and_grad(loss_fn, has_aux=True)(optimizer.target)
    grad, loss, accuracy = jax.lax.pmean((grad, loss, accuracy), "batch")
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree_leaves(grad)))
    grad = jax.tree_map(lambda g: g * jnp.clip(1.0 / norm, a_max=1.0), grad)
    return optimizer.apply_gradient(grad, learning_rate=lr), (loss, accuracy)


def get_batch(step, batch_size=40):
    base = np.random.RandomState(5).normal(size=(NUM_CLASSES, IMAGE, IMAGE, 3))
    rng = np.random.RandomState(step + 10)
    label = rng.randint(NUM_CLASSES, size=batch_size)
    image = base[label] + 0.7 * rng.normal(size=(batch_size, IMAGE, IMAGE, 3))
    return common_utils.shard({"image": image.astype(np.float32), "label": label})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--save_every", type=int, default=20)
    parser.add_argument("--weight_decay", type=float, default=1e-2)
    args = parser.parse_args()

    params = jax.jit(MlpMixer().init)(jax.random.PRNGKey(2), jnp.ones((1, IMAGE, IMAGE, 3)))
    params = params["params"]
    optimizer = make_optimizer_def(params, args.weight_decay).create(params)
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)
    start = int(optimizer.state.step)
    optimizer = jax_utils.replicate(optimizer)

    rate_fn = lr_schedule.create_stepped_learning_rate_schedule(
        0.1, STEPS_PER_EPOCH, [[3, 0.5], [5, 0.1]], warmup_length=1
    )
    p_train_step = jax.pmap(train_step, axis_name="batch", in_axes=(0, 0, None))
    history = []
    for step in range(start, args.steps):
        optimizer, metrics = p_train_step(optimizer, get_batch(step), rate_fn(step))
        history.append(metrics)
        loss, accuracy = jax_utils.unreplicate(metrics)
        print("step %d loss %.5f accuracy %.3f" % (step, loss, accuracy), flush=True)
        if (step + 1) % args.save_every == 0:
            saved = jax.device_get(jax_utils.unreplicate(optimizer))
            checkpoints.save_checkpoint(args.workdir, saved, step + 1, keep=2)
    summary = jax.tree_map(lambda x: x.mean(), common_utils.get_metrics(history))
    print("mean loss and accuracy", summary)

    optimizer = jax_utils.unreplicate(optimizer)
    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(optimizer))


if __name__ == "__main__":
    main()
