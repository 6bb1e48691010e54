# Stands for: the half-precision trainers, with DynamicScale and steps that are taken back.
import argparse
import functools
import os
from typing import Any

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import optim
from flax.optim import dynamic_scale as dynamic_scale_lib
from flax.training import checkpoints

VOCAB, LENGTH, WIDTH = 12, 6, 16


class LanguageModel(nn.Module):
    dtype: Any = jnp.float16

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(VOCAB, WIDTH, dtype=self.dtype)(tokens)
        context = jnp.cumsum(x, axis=1) / jnp.arange(1, LENGTH + 1, dtype=self.dtype)[:, None]
        x = jnp.concatenate([x, context], axis=-1)
        x = nn.tanh(nn.Dense(2 * WIDTH, dtype=self.dtype)(x))
        return nn.Dense(VOCAB, dtype=self.dtype)(x)


@flax.struct.dataclass
class TrainState:
    optimizer: optim.Optimizer
    dynamic_scale: dynamic_scale_lib.DynamicScale


def get_batch(step, batch_size=32):
    """Walks through a vocabulary in which every word has one likely successor."""
    successor = np.random.RandomState(0).permutation(VOCAB)
    rng = np.random.RandomState(step + 1)
    tokens = [rng.randint(VOCAB, size=batch_size)]
    for _ in range(LENGTH):
        jump = rng.uniform(size=batch_size) < 0.05
        tokens.append(np.where(jump, rng.randint(VOCAB, size=batch_size), successor[tokens[-1]]))
    tokens = np.stack(tokens, axis=1)
    return tokens[:, :-1], tokens[:, 1:]


@jax.jit
def train_step(state, batch, lr):
    inputs, targets = batch
    optimizer = state.optimizer

    def loss_fn(params):
        logits = LanguageModel().apply({"params": params}, inputs)
        logp = nn.log_softmax(logits.astype(jnp.float32))
        return -jnp.mean(jnp.sum(jax.nn.one_hot(targets, VOCAB) * logp, axis=-1))

    grad_fn = state.dynamic_scale.value_and_grad(loss_fn)
    dynamic_scale, is_fin, loss, grad = grad_fn(optimizer.target)
    new_optimizer = optimizer.apply_gradient(grad, learning_rate=lr)
    # Where gradients are not finite, keep the parameters and the state as they were.
    new_optimizer = jax.tree_multimap(
        functools.partial(jnp.where, is_fin), new_optimizer, optimizer
    )
    metrics = {"loss": loss, "finite": is_fin, "scale": dynamic_scale.scale}
    return state.replace(optimizer=new_optimizer, dynamic_scale=dynamic_scale), metrics


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--save_every", type=int, default=100)
    parser.add_argument("--learning_rate", type=float, default=0.3)
    args = parser.parse_args()

    params = LanguageModel().init(jax.random.PRNGKey(0), get_batch(0)[0])["params"]
    for leaf in jax.tree_leaves(params):
        assert leaf.dtype == jnp.float32
    state = TrainState(
        optimizer=optim.Momentum(beta=0.8, weight_decay=1e-4).create(params),
        # So large that it has to be halved at first, and grows too far again later.
        dynamic_scale=dynamic_scale_lib.DynamicScale(growth_interval=6, scale=2.0**22),
    )
    start = 0
    latest = checkpoints.latest_checkpoint(args.workdir)
    if latest is not None:
        # Steps that were taken back do not count in the optimizer.
        start = int(latest.split("_")[-1])
        state = checkpoints.restore_checkpoint(args.workdir, state)

    for step in range(start, args.steps):
        state, metrics = train_step(state, get_batch(step), args.learning_rate)
        metrics = jax.device_get(metrics)
        print(
            "step {} loss {:.5f} scale {:.0f}{}".format(
                step, metrics["loss"], metrics["scale"], "" if metrics["finite"] else " skipped"
            ),
            flush=True,
        )
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, state, step + 1, keep=3)

    assert int(state.optimizer.state.step) < args.steps
    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(state))


if __name__ == "__main__":
    main()
