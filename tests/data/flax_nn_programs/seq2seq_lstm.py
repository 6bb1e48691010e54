# Stands for: the addition example, an encoder and a decoder of LSTMs over masked sequences.
import argparse

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, nn, optim, serialization
from flax.training import checkpoints
from jax import random

SYMBOLS, LENGTH = 7, 4


class EncoderLSTM(nn.Module):
    def apply(self, carry, x, eos_id=1):
        def body(carry, x):
            carry, y = nn.LSTMCell(carry, x)
            return carry, y

        return body(carry, x)

    @staticmethod
    def initialize_carry(batch_size, hidden_size):
        return nn.LSTMCell.initialize_carry(random.PRNGKey(0), (batch_size,), hidden_size)


class Encoder(nn.Module):
    def apply(self, inputs, hidden_size):
        cell = EncoderLSTM.shared(name="encoder_lstm")
        carry = EncoderLSTM.initialize_carry(inputs.shape[0], hidden_size)
        carry, _ = jax_utils.scan_in_dim(cell.partial(), carry, inputs, axis=1)
        return carry


class Decoder(nn.Module):
    def apply(self, carry, inputs, teacher_force):
        cell = nn.OptimizedLSTMCell.shared(name="lstm")
        projection = nn.Dense.shared(features=SYMBOLS, name="projection")

        def step(state, x):
            key, carry, last = state
            if not teacher_force:
                x = last
            carry, y = cell(carry, x)
            logits = projection(y)
            key, sub = random.split(key)
            predicted = jax.nn.one_hot(random.categorical(sub, logits), SYMBOLS)
            return (key, carry, predicted), (logits, predicted)

        start = (nn.make_rng(), carry, inputs[:, 0])
        _, (logits, predictions) = jax_utils.scan_in_dim(step, start, inputs, axis=1)
        return logits, predictions


class Seq2seq(nn.Module):
    def apply(self, inputs, outputs, teacher_force=True, hidden_size=16):
        state = Encoder(inputs, hidden_size, name="encoder")
        return Decoder(state, outputs[:, :-1], teacher_force, name="decoder")


def get_batch(step):
    tokens = np.random.RandomState(step).randint(1, SYMBOLS, size=(32, LENGTH))
    outputs = np.concatenate([np.zeros((32, 1), int), tokens[:, ::-1]], axis=1)
    return jax.nn.one_hot(tokens, SYMBOLS), jax.nn.one_hot(outputs, SYMBOLS)


@jax.jit
def train_step(optimizer, batch, rng):
    inputs, outputs = batch

    def loss_fn(model):
        with nn.stochastic(rng):
            logits, _ = model(inputs, outputs)
        return -jnp.mean(jnp.sum(nn.log_softmax(logits) * outputs[:, 1:], axis=-1))

    loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree_leaves(grad)))
    grad = jax.tree_map(lambda g: g * jnp.minimum(1.0, 5.0 / norm), grad)
    return optimizer.apply_gradient(grad), loss


@jax.jit
def decode(model, batch, rng):
    with nn.stochastic(rng):
        return model(*batch, teacher_force=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--save_every", type=int)
    args = parser.parse_args()
    rng = random.PRNGKey(0)
    with nn.stochastic(rng):
        inputs, outputs = get_batch(0)
        specs = [(inputs.shape, jnp.float32), (outputs.shape, jnp.float32)]
        _, params = Seq2seq.init_by_shape(rng, specs)
    optimizer = optim.Momentum(learning_rate=0.3).create(nn.Model(Seq2seq, params))
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)
    for step in range(int(optimizer.state.step), args.steps):
        optimizer, loss = train_step(optimizer, get_batch(step), random.fold_in(rng, step))
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, optimizer, step + 1)
    logits, predictions = decode(optimizer.target, get_batch(10**6), rng)
    final = {"optimizer": optimizer, "logits": logits, "predictions": predictions}
    with open(args.workdir + "/final.msgpack", "wb") as f:
        f.write(serialization.to_bytes(final))


if __name__ == "__main__":
    main()
