# Stands for: the language model on one billion words, which decodes with a cache.
import argparse

import jax
import jax.numpy as jnp
import numpy as np
from flax import optim, serialization
from flax.deprecated import nn
from flax.training import checkpoints
from jax import random

VOCAB, LENGTH, EMBED = 11, 6, 16


def shift_right(x):
    return jnp.pad(x, ((0, 0), (1, 0)))[:, :-1]


class AddPositionEmbs(nn.Module):
    def apply(self, inputs, cache=None):
        table = self.param("pos_embedding", (1, LENGTH, EMBED), nn.initializers.normal(0.02))
        pe = table[:, : inputs.shape[1], :]
        if cache:
            if self.is_initializing():
                cache.store(np.array((4, 1, 1), dtype=np.int32))
            else:
                entry = cache.retrieve(None)
                i = entry.i
                cache.store(entry.replace(i=entry.i + 1))
                pe = jax.lax.dynamic_slice(table, jnp.array((0, i, 0)), (1, 1, EMBED))
        return inputs + pe


class Block(nn.Module):
    def apply(self, inputs, padding_mask=None, deterministic=False, cache=None):
        x = nn.LayerNorm(inputs)
        x = nn.SelfAttention(
            x,
            num_heads=2,
            qkv_features=8,
            attention_axis=(1,),
            causal_mask=True,
            padding_mask=padding_mask,
            kernel_init=nn.initializers.xavier_uniform(),
            bias_init=nn.initializers.normal(stddev=1e-6),
            bias=False,
            broadcast_dropout=False,
            dropout_rate=0.1,
            deterministic=deterministic,
            cache=cache,
        )
        x = nn.dropout(x, rate=0.1, deterministic=deterministic) + inputs
        y = nn.Dense(nn.gelu(nn.Dense(nn.LayerNorm(x), 32)), EMBED)
        return x + nn.dropout(y, rate=0.1, deterministic=deterministic)


class TransformerLM(nn.Module):
    def apply(self, inputs, train=False, shift=True, cache=None):
        padding_mask = jnp.where(inputs > 0, 1, 0).astype(jnp.float32)[..., None]
        embed = nn.Embed.shared(
            num_embeddings=VOCAB,
            features=EMBED,
            embedding_init=nn.initializers.normal(stddev=0.3),
            name="embed",
        )
        x = embed((shift_right(inputs) if shift else inputs).astype("int32"))
        x = AddPositionEmbs(x, cache=cache, name="posembed_output")
        x = nn.dropout(x, rate=0.1, deterministic=not train)
        for lyr in range(2):
            x = Block(x, padding_mask, deterministic=not train, cache=cache, name=f"block_{lyr}")
        x = nn.LayerNorm(x, name="encoder_norm")
        return embed.attend(x) / np.sqrt(EMBED)


@jax.jit
def train_step(optimizer, inputs, rng):
    def loss_fn(model):
        with nn.stochastic(rng):
            logits = model(inputs, train=True)
        weights = jnp.where(inputs > 0, 1, 0)
        log_p = jnp.sum(jax.nn.one_hot(inputs, VOCAB) * nn.log_softmax(logits), axis=-1)
        return -jnp.sum(log_p * weights) / weights.sum()

    loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
    return optimizer.apply_gradient(grad), loss


def decode(model, cache, batch):
    @jax.jit
    def step(model, cache, token):
        with cache.mutate() as new_cache:
            logits = model(token, shift=False, train=False, cache=new_cache)
        return new_cache, jnp.argmax(logits[:, -1], -1)[:, None], logits

    token, tokens, all_logits = jnp.zeros((batch, 1), jnp.int32), [], []
    for _ in range(LENGTH):
        cache, token, logits = step(model, cache, token)
        tokens.append(token)
        all_logits.append(logits)
    return jnp.concatenate(tokens, 1), jnp.concatenate(all_logits, 1)


def get_batch(step):
    starts = np.random.RandomState(step).randint(1, VOCAB, size=(32, 1))
    tokens = (starts + 3 * np.arange(LENGTH) - 1) % (VOCAB - 1) + 1
    tokens[:8, 4:] = 0
    return tokens


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--save_every", type=int)
    args = parser.parse_args()
    rng = random.PRNGKey(0)
    with nn.stochastic(rng), nn.attention.Cache().mutate() as cache_def:
        _, params = TransformerLM.init_by_shape(rng, [((2, LENGTH), jnp.float32)], cache=cache_def)
    definition = optim.Adam(3e-3, beta1=0.9, beta2=0.98, eps=1e-9, weight_decay=1e-1)
    optimizer = definition.create(nn.Model(TransformerLM, params))
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)
    for step in range(int(optimizer.state.step), args.steps):
        optimizer, loss = train_step(optimizer, get_batch(step), random.fold_in(rng, step))
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, optimizer, step + 1)
    _, logits = decode(optimizer.target, cache_def.initialize_cache((2, LENGTH)), 2)
    with open(args.workdir + "/final.msgpack", "wb") as f:
        f.write(serialization.to_bytes({"optimizer": optimizer, "logits": logits}))


if __name__ == "__main__":
    main()
