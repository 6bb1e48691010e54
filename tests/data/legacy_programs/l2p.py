# Stands for: the prompt-learning repositories, a frozen backbone under trained prompts and head.
import argparse
import os

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import optim
from flax.training import checkpoints

NUM_CLASSES = 6
TOKENS = 5
WIDTH = 16


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        attention = nn.MultiHeadDotProductAttention(
            num_heads=2, kernel_init=nn.initializers.xavier_uniform()
        )
        y = nn.LayerNorm()(x)
        x = x + attention(y, y)
        return x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(2 * WIDTH)(nn.LayerNorm()(x))))


class PromptedTransformer(nn.Module):
    num_prompts: int = 3

    @nn.compact
    def __call__(self, tokens):
        x = nn.Dense(WIDTH, name="embedding")(tokens)
        prompt = self.param("prompt", nn.initializers.normal(0.5), (self.num_prompts, WIDTH))
        prompt = jnp.broadcast_to(prompt, (x.shape[0],) + prompt.shape)
        x = Block(name="encoderblock_0")(jnp.concatenate([prompt, x], axis=1))
        x = nn.LayerNorm(name="encoder_norm")(x)
        return nn.Dense(NUM_CLASSES, name="head")(jnp.mean(x, axis=1))


def trainable(path, _):
    return "prompt" in path or "/head/" in path


def get_batch(step, batch_size=48):
    centers = np.random.RandomState(3).normal(size=(NUM_CLASSES, TOKENS, 4))
    rng = np.random.RandomState(100 + step)
    labels = rng.randint(NUM_CLASSES, size=batch_size)
    tokens = centers[labels] + 0.3 * rng.normal(size=(batch_size, TOKENS, 4))
    return {"tokens": tokens.astype(np.float32), "labels": labels}


@jax.jit
def train_step(optimizer, batch, lr):
    def loss_fn(params):
        logits = PromptedTransformer().apply({"params": params}, batch["tokens"])
        one_hot = jax.nn.one_hot(batch["labels"], NUM_CLASSES)
        return -jnp.mean(jnp.sum(one_hot * nn.log_softmax(logits), axis=-1))

    loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
    return optimizer.apply_gradient(grad, learning_rate=lr), loss


def pretrained_params(model, directory):
    """What somebody trained long ago; it comes without prompts."""
    if checkpoints.latest_checkpoint(directory) is None:
        params = jax.jit(model.init)(jax.random.PRNGKey(1234), get_batch(0)["tokens"])["params"]
        params = params.unfreeze()
        del params["prompt"], params["head"]
        checkpoints.save_checkpoint(directory, {"target": params}, 0)
    return checkpoints.restore_checkpoint(directory, target=None)["target"]


def load_pretrained(optimizer, pretrained):
    params = optimizer.target.unfreeze()
    missing = set(params) - set(pretrained)
    assert missing == {"prompt", "head"}, missing
    for name, value in pretrained.items():
        params[name] = jax.tree_multimap(
            lambda old, new: np.asarray(new, old.dtype), params[name], value
        )
    return optimizer.replace(target=flax.core.freeze(params))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--save_every", type=int, default=20)
    args = parser.parse_args()

    model = PromptedTransformer()
    params = jax.jit(model.init)(jax.random.PRNGKey(0), get_batch(0)["tokens"])["params"]
    optimizer_def = optim.MultiOptimizer(
        (optim.ModelParamTraversal(trainable), optim.Adam(beta1=0.8, eps=1e-6))
    )
    optimizer = optimizer_def.create(params)
    if checkpoints.latest_checkpoint(args.workdir) is None:
        pretrained = pretrained_params(model, os.path.join(args.workdir, "pretrained"))
        optimizer = load_pretrained(optimizer, pretrained)
    else:
        optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)

    frozen = jax.device_get(optimizer.target["encoderblock_0"])
    for step in range(int(optimizer.state.step), args.steps):
        optimizer, loss = train_step(optimizer, get_batch(step), 0.02)
        print("step {:d} loss {:.5f}".format(step, float(loss)), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, optimizer, step + 1, keep=3)

    assert optimizer.state.param_states["encoderblock_0"]["LayerNorm_0"]["scale"] is None
    for before, after in zip(
        jax.tree_leaves(frozen), jax.tree_leaves(optimizer.target["encoderblock_0"])
    ):
        np.testing.assert_array_equal(before, after)
    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(optimizer))


if __name__ == "__main__":
    main()
