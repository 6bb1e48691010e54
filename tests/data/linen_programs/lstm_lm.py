# Stands for: the recurrent language models, cells that learn their size from the carry.
import argparse
import functools
import os
from typing import Any, Tuple

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from flax import optim, serialization
from flax.training import checkpoints

VOCAB, LENGTH, EMBED, HIDDEN = 14, 10, 12, 24
Carry = Tuple[jnp.DeviceArray, jnp.DeviceArray]


class UniLSTM(nn.Module):
    """One direction; the parameters are the same at all times."""

    @functools.partial(
        nn.scan, variable_broadcast="params", in_axes=1, out_axes=1, split_rngs={"params": False}
    )
    @nn.compact
    def __call__(self, carry, x):
        return nn.OptimizedLSTMCell()(carry, x)

    @staticmethod
    def initialize_carry(batch_dims, hidden_size) -> Carry:
        # Zeros, so that any key will do.
        return nn.OptimizedLSTMCell.initialize_carry(jax.random.PRNGKey(0), batch_dims, hidden_size)


ScannedGRU = nn.scan(
    nn.GRUCell, variable_broadcast="params", in_axes=1, out_axes=1, split_rngs={"params": False}
)


class LanguageModel(nn.Module):
    dropout: float = 0.1

    @nn.compact
    def __call__(self, tokens, train=True):
        x = nn.Embed(VOCAB, EMBED, name="embed")(tokens)
        carry = UniLSTM.initialize_carry((x.shape[0],), HIDDEN)
        _, x = UniLSTM(name="lstm")(carry, x)
        x = nn.Dropout(self.dropout)(x, deterministic=not train)
        carry = nn.GRUCell.initialize_carry(jax.random.PRNGKey(0), (x.shape[0],), HIDDEN)
        _, x = ScannedGRU(name="gru")(carry, x)
        return nn.Dense(VOCAB, name="decoder")(x)


class Summary(nn.Module):
    """What is read of a whole line by a single cell, step by step in Python."""

    @nn.compact
    def __call__(self, embedded):
        cell = nn.LSTMCell(name="cell")
        carry = nn.LSTMCell.initialize_carry(jax.random.PRNGKey(0), embedded.shape[:1], size=8)
        for t in range(embedded.shape[1]):
            carry, y = cell(carry, embedded[:, t])
        return nn.Dense(1)(y)


@flax.struct.dataclass
class State:
    optimizer: optim.Optimizer
    summary: optim.Optimizer
    perplexity: Any


def get_batch(step, batch_size=24):
    """Lines of a language in which two letters decide the next one."""
    rule = np.random.RandomState(0).randint(VOCAB, size=(VOCAB, 2))
    rng = np.random.RandomState(step + 1)
    line = [rng.randint(VOCAB, size=batch_size)]
    for _ in range(LENGTH):
        line.append(rule[line[-1], rng.randint(2, size=batch_size)])
    line = np.stack(line, axis=1)
    return line[:, :-1], line[:, 1:]


def clip_grads(grads, limit):
    return jax.tree_map(lambda g: jnp.clip(g, a_min=-limit, a_max=limit), grads)


@jax.jit
def train_step(state, batch, rng, learning_rate):
    inputs, targets = batch

    def loss_fn(params):
        logits = LanguageModel().apply({"params": params}, inputs, rngs={"dropout": rng})
        one_hot = jax.nn.one_hot(targets, VOCAB)
        return -jnp.mean(jnp.sum(one_hot * jax.nn.log_softmax(logits), axis=-1))

    loss, grad = jax.value_and_grad(loss_fn)(state.optimizer.target)
    optimizer = state.optimizer.apply_gradient(clip_grads(grad, 0.1), learning_rate=learning_rate)

    embedded = optimizer.target["embed"]["embedding"][inputs]
    wanted = jnp.mean(inputs == targets[:, :1], axis=1, keepdims=True)

    def summary_loss(params):
        return jnp.mean((Summary().apply({"params": params}, embedded) - wanted) ** 2)

    summary = state.summary.apply_gradient(jax.grad(summary_loss)(state.summary.target))
    average = jax.tree_multimap(
        lambda a, b: 0.9 * a + 0.1 * b, state.perplexity, {"train": jnp.exp(loss)}
    )
    return state.replace(optimizer=optimizer, summary=summary, perplexity=average), loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--save_every", type=int, default=100)
    args = parser.parse_args()

    rng = jax.random.PRNGKey(0)
    variables = jax.jit(functools.partial(LanguageModel().init, train=False))(rng, get_batch(0)[0])
    reader = jax.jit(Summary().init)(rng, jnp.ones((1, LENGTH, EMBED)))
    state = State(
        optim.Adam(beta2=0.98, weight_decay=1e-3).create(variables["params"]),
        optim.Momentum(learning_rate=0.05).create(reader["params"]),
        {"train": jnp.float32(VOCAB)},
    )
    state = checkpoints.restore_checkpoint(args.workdir, state)
    for step in range(int(state.optimizer.state.step), args.steps):
        key = jax.random.fold_in(rng, step)
        state, loss = train_step(state, get_batch(step), key, 0.02 * 0.95**step)
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, state, step + 1, keep=2)
    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(serialization.to_bytes(state))


if __name__ == "__main__":
    main()
