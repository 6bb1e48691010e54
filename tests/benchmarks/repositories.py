"""Training repositories in the style of their time, as large as is asked for, always the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

_CLASSES = ("Adam", "Momentum", "LAMB", "Adafactor", "RMSProp", "GradientDescent")

_MODEL = '''\
"""A model."""

from typing import Any, Sequence

import jax
import jax.numpy as jnp
from flax import linen as nn


class Block{number}(nn.Module):
    features: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x, train: bool = True):
        residual = x
        x = nn.Dense(self.features, dtype=self.dtype, name="inner")(x)
        x = nn.LayerNorm()(x)
        x = nn.relu(x)
        x = nn.Dropout({rate}, deterministic=not train)(x)
        return nn.Dense(residual.shape[-1])(x) + residual


class Model{number}(nn.Module):
    widths: Sequence[int] = ({width}, {width})

    @nn.compact
    def __call__(self, x, train: bool = True):
        for width in self.widths:
            x = Block{number}(width)(x, train)
        return nn.log_softmax(nn.Dense({width})(x))


def initialized(key, shape=(1, {width})):
    variables = Model{number}().init(key, jnp.ones(shape))
    return jax.tree_map(jnp.asarray, variables["params"])
'''

_FACTORY = '''\
"""Which optimizer an experiment trains with."""

from flax import optim

from {package}.helpers.schedule_{schedule} import create_schedule

DEFAULT_RATE = {rate}
REGISTRY = {{}}


def register(name):
    def wrapped(function):
        REGISTRY[name] = function
        return function

    return wrapped


@register("{lower}")
def make_{lower}(rate=DEFAULT_RATE, weight_decay=0.0):
    return optim.{cls}(learning_rate=rate)


@register("sgd")
def make_sgd(rate=DEFAULT_RATE):
    return optim.Momentum(rate, beta=0.9, nesterov=True)


def create_optimizer(config, params):
    """The optimizer of a configuration, on the parameters of a model."""
    definition = REGISTRY[config.optimizer](config.rate)
    return definition.create(params)


def create_default(params, steps):
    schedule = create_schedule(DEFAULT_RATE, steps)
    definition = optim.{cls}(learning_rate=DEFAULT_RATE)
    return definition.create(params), schedule
'''

_STEP = '''\
"""One step of training."""

import functools

import jax
import jax.numpy as jnp

from {package}.helpers.metrics_{metrics} import accuracy, cross_entropy


def loss_fn(params, apply_fn, batch):
    logits = apply_fn({{"params": params}}, batch["inputs"])
    loss = cross_entropy(logits, batch["labels"])
    return loss, logits


@functools.partial(jax.jit, static_argnums=(1,))
def train_step_{number}(optimizer, apply_fn, batch, rate):
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, logits), grads = grad_fn(optimizer.target, apply_fn, batch)
    norm = jnp.sqrt(sum(jnp.sum(x * x) for x in jax.tree_leaves(grads)))
    grads = jax.tree_map(lambda g: g / jnp.maximum(norm, {clip}), grads)
    optimizer = optimizer.apply_gradient(grads, learning_rate=rate)
    metrics = {{"loss": loss, "accuracy": accuracy(logits, batch["labels"]), "norm": norm}}
    return optimizer, metrics


def eval_step_{number}(params, apply_fn, batch):
    loss, logits = loss_fn(params, apply_fn, batch)
    return {{"loss": loss, "accuracy": accuracy(logits, batch["labels"])}}
'''

_TRAINER = '''\
"""A trainer."""

import logging

import flax
import jax
from flax import optim
from flax.training import checkpoints

from {package}.helpers.metrics_{metrics} import mean_of
from {package}.models.model_{model} import Model{model}, initialized
from {package}.optimizers.factory_{factory} import create_default, create_optimizer
from {package}.steps.step_{step} import eval_step_{step}, train_step_{step}


@flax.struct.dataclass
class State{number}:
    optimizer: optim.Optimizer
    best: float = 0.0


class Trainer{number}:
    def __init__(self, config, directory):
        self.config = config
        self.directory = directory
        self.model = Model{model}()
        params = initialized(jax.random.PRNGKey(config.seed))
        self.optimizer, self.schedule = create_default(params, config.steps)
        if config.optimizer:
            self.optimizer = create_optimizer(config, params)

    @property
    def step(self):
        return int(self.optimizer.state.step)

    def train(self, batches):
        found = []
        for batch in batches:
            rate = self.schedule(self.step)
            self.optimizer, metrics = train_step_{step}(
                self.optimizer, self.model.apply, batch, rate
            )
            found.append(metrics)
            if self.step % {every} == 0:
                logging.info("step %d: %s", self.step, mean_of(found))
                found = []
                self.save()
        return State{number}(self.optimizer)

    def evaluate(self, batches):
        params = self.optimizer.target
        return mean_of([eval_step_{step}(params, self.model.apply, each) for each in batches])

    def save(self):
        checkpoints.save_checkpoint(self.directory, self.optimizer, self.step, keep=3)

    def restore(self):
        self.optimizer = checkpoints.restore_checkpoint(self.directory, self.optimizer)
'''

_SCHEDULE = '''\
"""A schedule of the learning rate."""

import jax.numpy as jnp

WARMUP = {every}


def create_schedule(base, steps):
    def schedule(step):
        warm = jnp.minimum(1.0, step / WARMUP)
        progress = jnp.clip((step - WARMUP) / max(1, steps - WARMUP), 0.0, 1.0)
        return base * warm * 0.5 * (1.0 + jnp.cos(jnp.pi * progress))

    return schedule
'''

_METRICS = '''\
"""What is measured of a batch."""

import jax
import jax.numpy as jnp
import numpy as np


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, logits.shape[-1]) * logits, axis=-1))


def accuracy(logits, labels):
    return jnp.mean(jnp.argmax(logits, -1) == labels)


def mean_of(found):
    names = found[0] if found else {{}}
    return {{name: np.mean([np.float_(each[name]) for each in found]) for name in names}}
'''

_DATA = '''\
"""Batches of data set {number}."""

import collections
import itertools
import os

import numpy as np

Example = collections.namedtuple("Example", "inputs labels")
SIZES = {{"train": {width}00, "test": {width}0}}


class Source{number}:
    def __init__(self, folder, split="train", seed={number}):
        self.folder = folder
        self.split = split
        self.random = np.random.RandomState(seed)

    def __len__(self):
        return SIZES[self.split]

    def example(self, index):
        path = os.path.join(self.folder, self.split, "%06d.npy" % index)
        values = np.load(path) if os.path.exists(path) else np.zeros({width})
        return Example(values[:-1], int(values[-1]))

    def shuffled(self):
        order = np.arange(len(self))
        self.random.shuffle(order)
        return (self.example(each) for each in order)


def batches(source, size):
    examples = source.shuffled()
    while True:
        chunk = list(itertools.islice(examples, size))
        if len(chunk) < size:
            return
        inputs = np.stack([each.inputs for each in chunk])
        labels = np.array([each.labels for each in chunk])
        yield {{"inputs": inputs, "labels": labels}}
'''

_TEXTS = '''\
"""Tables of results."""

import argparse
import csv
import json
import sys

COLUMNS = ("name", "step", "loss", "accuracy")


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.strip()]


def best_of(rows, key="accuracy"):
    found = {{}}
    for row in rows:
        name = row["name"]
        if name not in found or row[key] > found[name][key]:
            found[name] = row
    return sorted(found.values(), key=lambda row: -row[key])[:{every}]


def write(rows, file=sys.stdout):
    writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow(row)


def main_{number}():
    parser = argparse.ArgumentParser()
    parser.add_argument("paths", nargs="+")
    arguments = parser.parse_args()
    write(best_of([row for path in arguments.paths for row in read(path)]))


if __name__ == "__main__":
    main_{number}()
'''

_EXPERIMENT = '''\
"""An experiment."""

from absl import app, flags

from {package}.data.source_{data} import Source{data}, batches
from {package}.trainers.trainer_{trainer} import Trainer{trainer}

FLAGS = flags.FLAGS
flags.DEFINE_string("optimizer", "", "Which one; the trainer has one of its own.")
flags.DEFINE_float("rate", {rate}, "The learning rate.")
flags.DEFINE_integer("seed", {number}, "Where chance begins.")
flags.DEFINE_integer("steps", {width}, "How many steps there are.")


def main(_):
    trainer = Trainer{trainer}(FLAGS, "work")
    source = Source{data}("data")
    for _ in range(FLAGS.steps // {every}):
        state = trainer.train(batches(source, 32))
        print(trainer.evaluate(batches(source, 32)), state.optimizer.state.step)


if __name__ == "__main__":
    app.run(main)
'''

# In which folder, what a file is called, its text, and how many of a hundred files are such.
_KINDS = (
    ("trainers", "trainer", _TRAINER, 10),
    ("steps", "step", _STEP, 10),
    ("optimizers", "factory", _FACTORY, 10),
    ("models", "model", _MODEL, 20),
    ("helpers", "schedule", _SCHEDULE, 10),
    ("helpers", "metrics", _METRICS, 10),
    ("data", "source", _DATA, 10),
    ("tools", "table", _TEXTS, 10),
    ("experiments", "train", _EXPERIMENT, 10),
)


def write_repository(folder: Path, size: int, seed: int = 0, package: str = "project") -> None:
    """Write one training repository.

    Args:
      folder: where its package will be.
      size: how many files it has; at least ten.
      seed: repositories of other seeds differ in their classes, numbers and imports.
      package: its name.
    """
    for name, text in _files(size, seed, package):
        path = folder / package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _files(size: int, seed: int, package: str) -> Iterator[tuple[str, str]]:
    chance = random.Random(f"{size} {seed}")
    counts = {kind: max(1, size * share // 100) for _, kind, _, share in _KINDS}
    # One of each kind takes nine, and the rest of a small repository are models.
    counts["model"] += size - sum(counts.values())
    for folder, kind, text, _ in _KINDS:
        for number in range(counts[kind]):
            cls = chance.choice(_CLASSES)
            # Mostly its own; some are shared.
            others = {
                other: number % counts[other]
                if chance.random() < 0.8
                else chance.randrange(counts[other])
                for other in counts
            }
            values = {
                **others,
                "data": others["source"],
                "number": number,
                "package": package,
                "cls": cls,
                "lower": cls.lower(),
                "rate": chance.choice(("1e-3", "3e-4", "0.1")),
                "clip": chance.choice(("1.0", "5.0")),
                "width": chance.choice((64, 128, 512)),
                "every": chance.choice((10, 50, 100)),
            }
            yield f"{folder}/{kind}_{number}.py", text.format(**values)
