# Stands for: the benchmark repositories, which look optimizers up by name and try many of them.
import argparse
import json
import os
import time

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import optim
from flax.training import checkpoints
from jax.tree_util import tree_multimap

jax.config.enable_omnistaging()

CONFIGS = {
    "GradientDescent": dict(learning_rate=0.1),
    "Momentum": dict(learning_rate=0.02, beta=0.9, weight_decay=1e-3, nesterov=True),
    "Adam": dict(learning_rate=0.02, weight_decay=1e-2),
    "AdaBelief": dict(learning_rate=0.02),
    "Adadelta": dict(learning_rate=1.0, eps=1e-3),
    "Adafactor": dict(learning_rate=0.1, beta1=0.9, min_dim_size_to_factor=4),
    "Adagrad": dict(learning_rate=0.1),
    "LAMB": dict(learning_rate=0.02, weight_decay=1e-3),
    "LARS": dict(learning_rate=0.1, trust_coefficient=0.1, weight_decay=1e-3),
    "RMSProp": dict(learning_rate=0.01, centered=True, eps=1e-4),
}


def get_optimizer_def(name, overrides):
    config = dict(CONFIGS[name], **overrides.get(name, {}))
    return getattr(optim, name)(**config)


def init_params(rng, sizes):
    params = {}
    for i, (fan_in, fan_out) in enumerate(zip(sizes[:-1], sizes[1:])):
        key = jax.random.fold_in(rng, i)
        kernel = jax.random.normal(key, (fan_in, fan_out)) / np.sqrt(fan_in)
        params["layer_%d" % i] = {"kernel": kernel, "bias": 0.5 * jnp.ones((fan_out,))}
    return params


def predict(params, inputs):
    x = inputs
    for i in range(len(params)):
        layer = params["layer_%d" % i]
        x = jnp.dot(x, layer["kernel"]) + layer["bias"]
        if i + 1 < len(params):
            x = jnp.tanh(x)
    return x


def loss_fn(params, batch):
    inputs, targets = batch
    return jnp.mean(jnp.sum((predict(params, inputs) - targets) ** 2, axis=-1))


@jax.jit
def train_step(optimizer, average, batch):
    loss, _, grad = optimizer.compute_gradient(lambda params: (loss_fn(params, batch), {}))
    optimizer = optimizer.apply_gradient(grad)
    average = tree_multimap(lambda a, p: 0.9 * a + 0.1 * p, average, optimizer.target)
    return optimizer, average, loss


def get_batch(step, batch_size=64):
    teacher = np.random.RandomState(0).normal(size=(6, 3))
    rng = np.random.RandomState(step + 1)
    inputs = rng.normal(size=(batch_size, 6))
    targets = 1.0 + np.tanh(inputs @ teacher / 2) + 0.05 * rng.normal(size=(batch_size, 3))
    return inputs.astype(np.float32), targets.astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--save_every", type=int, default=100)
    parser.add_argument("--optimizer", nargs="+", default=["Adam"], choices=sorted(CONFIGS))
    parser.add_argument("--config", type=json.loads, default={}, help="JSON, by optimizer")
    args = parser.parse_args()

    params = init_params(jax.random.PRNGKey(0), [6, 16, 3])
    count = sum([np.product(leaf.shape) for leaf in jax.tree_util.tree_leaves(params)])
    print("%d parameters, optimizers: %s" % (count, ", ".join(args.optimizer)))

    runs = {}
    for name in args.optimizer:
        optimizer = get_optimizer_def(name, args.config).create(params)
        runs[name] = {"optimizer": optimizer, "average": params}
    start = 0
    latest = checkpoints.latest_checkpoint(args.workdir)
    if latest:
        runs = checkpoints.restore_checkpoint(args.workdir, runs)
        start = int(runs[args.optimizer[0]]["optimizer"].state.step)

    for step in range(start, args.steps):
        began = time.time()
        losses = {}
        for name, run in runs.items():
            optimizer, average, loss = train_step(run["optimizer"], run["average"], get_batch(step))
            runs[name] = {"optimizer": optimizer, "average": average}
            losses[name] = float(loss)
        worst = max(losses, key=losses.get)
        print(
            "step %d loss %.5f worst %s (%.5f) %.2fs"
            % (step, np.mean(list(losses.values())), worst, losses[worst], time.time() - began),
            flush=True,
        )
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, runs, step + 1, keep=1)

    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(runs))


if __name__ == "__main__":
    main()
