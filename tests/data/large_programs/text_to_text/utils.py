"""What the trainer does not need to know: data, learning rates, and optimizers by patterns."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
from flax import optim, traverse_util

from text_to_text.bindings import configurable, external_configurable
from text_to_text.models import LENGTH, VOCAB

external_configurable(optim.Adafactor, "Adafactor")
external_configurable(optim.Adam, "Adam")


@configurable
def create_learning_rate_scheduler(factors="constant * rsqrt", base=0.5, warmup_steps=4):
    names = [name.strip() for name in factors.split("*")]

    def step_fn(step):
        rate = 1.0
        for name in names:
            if name == "constant":
                rate = rate * base
            elif name == "linear_warmup":
                rate = rate * jnp.minimum(1.0, (step + 1) / warmup_steps)
            elif name == "rsqrt":
                rate = rate / jnp.sqrt(jnp.maximum(step, warmup_steps))
            else:
                raise ValueError(name)
        return jnp.asarray(rate, jnp.float32)

    return step_fn


def _matches(patterns, path, _):
    return any(re.search(pattern, path) for pattern in patterns)


@configurable
def split_optimizer(patterns=("norm", "embedder"), beta=0.9):
    """Adam for what matches a pattern, Adafactor for all else."""
    matches = functools.partial(_matches, patterns)
    special = optim.ModelParamTraversal(matches)
    common = optim.ModelParamTraversal(lambda path, leaf: not matches(path, leaf))
    return optim.MultiOptimizer(
        (special, optim.Adam(learning_rate=1e-3, beta1=beta)),
        (common, optim.Adafactor(learning_rate=1e-2, min_dim_size_to_factor=8)),
    )


@configurable
def get_batches(seed=0, batch_size=8):
    step = 0
    while True:
        rng = np.random.RandomState(seed + step)
        inputs = rng.randint(1, VOCAB, size=(batch_size, LENGTH))
        weights = (rng.uniform(size=inputs.shape) < 0.9).astype(np.float32)
        yield {"inputs": inputs, "targets": inputs[:, ::-1].copy(), "weights": weights}
        step += 1


def norms(tree):
    flat = traverse_util.flatten_dict(dict(tree))
    return {"/".join(path): jnp.sqrt(jnp.sum(x**2)) for path, x in flat.items()}


def microbatches(batch, number):
    size = len(batch["inputs"]) // number
    for index in range(number):
        part = slice(index * size, (index + 1) * size)
        yield jax.tree_map(lambda x, part=part: x[part], batch)
