# Stands for: taggers of text, GRUs in both directions with tied embeddings, and parts that stay.
import argparse

import jax
import jax.numpy as jnp
import numpy as np
from flax import nn, optim, serialization
from flax.training import checkpoints
from jax import random

VOCAB, SIZE = 9, 8


class BiGRU(nn.Module):
    def apply(self, x):
        forward = nn.GRUCell.shared(name="forward")
        backward = nn.GRUCell.shared(name="backward")
        carry = nn.GRUCell.initialize_carry(random.PRNGKey(0), (x.shape[0],), SIZE)
        xs = x.transpose((1, 0, 2))
        _, ahead = jax.lax.scan(forward, carry, xs)
        _, back = jax.lax.scan(backward, carry, xs[::-1])
        return jnp.concatenate([ahead, back[::-1]], -1).transpose((1, 0, 2))


class Tagger(nn.Module):
    def apply(self, tokens):
        embed = nn.Embed.shared(num_embeddings=VOCAB, features=SIZE, name="embed")
        x = BiGRU(embed(tokens), name="rnn")
        x = nn.DenseGeneral(x, features=(2, SIZE // 2), axis=-1, name="project")
        x = nn.DenseGeneral(nn.gelu(x), features=SIZE, axis=(-2, -1), name="merge")
        return embed.attend(nn.LayerNorm(x))


@jax.jit
def train_step(optimizer, tokens, tags):
    def loss_fn(params):
        logits = Tagger.call(params, tokens)
        return -jnp.mean(jnp.sum(jax.nn.one_hot(tags, VOCAB) * nn.log_softmax(logits), -1))

    loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
    return optimizer.apply_gradient(grad), loss


def get_batch(step):
    tokens = np.random.RandomState(step).randint(VOCAB, size=(16, 5))
    return tokens, np.roll(tokens, 1, axis=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--save_every", type=int)
    args = parser.parse_args()
    _, params = Tagger.init_by_shape(random.PRNGKey(2), [((16, 5), jnp.int32)])
    # Plain parameters, without a model: the embeddings move more slowly than the rest.
    slow = optim.ModelParamTraversal(lambda path, _: "embed" in path)
    fast = optim.ModelParamTraversal(lambda path, _: "embed" not in path)
    definition = optim.MultiOptimizer(
        (slow, optim.GradientDescent(learning_rate=0.1)),
        (fast, optim.Momentum(learning_rate=0.1, beta=0.9)),
    )
    optimizer = definition.create(params)
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)
    first = int(optimizer.state.step)
    for step in range(first, args.steps):
        optimizer, loss = train_step(optimizer, *get_batch(step))
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, optimizer, step + 1)
    with open(args.workdir + "/final.msgpack", "wb") as f:
        f.write(serialization.to_bytes(optimizer))


if __name__ == "__main__":
    main()
