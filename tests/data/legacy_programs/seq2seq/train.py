# Stands for: the trainers of text-to-text transformers, started as a module of their package.
import argparse
import functools
import os

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from flax import serialization, traverse_util

from seq2seq import adafactor

VOCAB, LENGTH, EMBED = 12, 5, 16
AXIS_RULES = (
    ("token_embedder", ("vocab", "embed")),
    ("position", ("length", "embed")),
    ("wi/kernel", ("embed", "mlp")),
    ("wo/kernel", ("mlp", "embed")),
    ("mixer$", ("length", "length_out")),
    ("scale", ("embed",)),
)


class RMSNorm(nn.Module):
    @nn.compact
    def __call__(self, x):
        scale = self.param("scale", nn.initializers.ones, (x.shape[-1],))
        return scale * x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6)


class Encoder(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        embed = nn.Embed(VOCAB, EMBED, name="token_embedder")
        x = embed(tokens) + self.param("position", nn.initializers.normal(0.1), (LENGTH, EMBED))
        mixer = self.param("mixer", nn.initializers.normal(0.4), (LENGTH, LENGTH))
        x = x + jnp.einsum("blc,lm->bmc", RMSNorm(name="mixer_norm")(x), mixer)
        y = nn.gelu(nn.Dense(32, use_bias=False, name="wi")(RMSNorm(name="mlp_norm")(x)))
        x = x + nn.Dense(EMBED, use_bias=False, name="wo")(y)
        return embed.attend(RMSNorm(name="final_norm")(x)) / np.sqrt(EMBED)


def get_batch(step, batch_size=64):
    """Sequences that are to be reversed."""
    tokens = np.random.RandomState(step).randint(VOCAB, size=(batch_size, LENGTH))
    return {"inputs": tokens, "targets": tokens[:, ::-1]}


@functools.partial(jax.jit, donate_argnums=(0,))
def train_step(optimizer: flax.optim.Optimizer, batch, learning_rate):
    def loss_fn(params):
        logits = Encoder().apply({"params": params}, batch["inputs"])
        one_hot = jax.nn.one_hot(batch["targets"], VOCAB)
        return -jnp.mean(jnp.sum(one_hot * jax.nn.log_softmax(logits), axis=-1))

    loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
    return optimizer.apply_gradient(grad, learning_rate=learning_rate), loss


class CheckpointManager:
    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)

    def all_steps(self):
        names = os.listdir(self.directory)
        return sorted(int(name[5:]) for name in names if name.startswith("step_"))

    def save(self, optimizer):
        state_dict = jax.device_get(optimizer.state_dict())
        path = os.path.join(self.directory, "step_%d" % state_dict["state"]["step"])
        with open(path.replace("step_", "unfinished_"), "wb") as f:
            f.write(serialization.msgpack_serialize(state_dict))
        os.rename(path.replace("step_", "unfinished_"), path)

    def restore(self, optimizer):
        if not self.all_steps():
            return optimizer
        path = os.path.join(self.directory, "step_%d" % self.all_steps()[-1])
        with open(path, "rb") as f:
            return optimizer.restore_state(serialization.msgpack_restore(f.read()))


def report(optimizer, optimizer_def):
    param_axes = adafactor.axes_of(optimizer.target, AXIS_RULES)
    axes = optimizer_def.derive_logical_axes(optimizer, param_axes)
    flat = traverse_util.flatten_dict(axes.state_dict()["state"]["param_states"])
    for path, names in sorted(flat.items()):
        if path[-1] in ("v_row", "v_col") and names:
            print("axes of %s: %s" % ("/".join(path), names))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--save_every", type=int, default=100)
    args = parser.parse_args()

    params = jax.jit(Encoder().init)(jax.random.PRNGKey(0), get_batch(0)["inputs"])["params"]
    make_def = functools.partial(
        adafactor.LogicalAdafactor,
        warmup_steps=4,
        max_update=0.2,
        beta1=0.5,
        decay_rate=0.8,
        min_dim_size_to_factor=8,
    )
    assert make_def() == make_def() and make_def() != make_def(step_offset=1)
    optimizer = make_def().create(params)
    report(optimizer, make_def())
    manager = CheckpointManager(args.workdir)
    optimizer = manager.restore(optimizer)

    for step in range(int(optimizer.state.step), args.steps):
        learning_rate = 0.3 / np.sqrt(max(step, 10))
        optimizer, loss = train_step(optimizer, get_batch(step), learning_rate)
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            manager.save(optimizer)

    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(serialization.msgpack_serialize(jax.device_get(optimizer.state_dict())))


if __name__ == "__main__":
    main()
