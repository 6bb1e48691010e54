import argparse
import functools
import os
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, optim, serialization
from flax.training import common_utils

from gan import steps
from gan.models import Discriminator, Generator


def images(step, count):
    rng = np.random.RandomState(step)
    centers = rng.uniform(-1, 1, size=(count, 1, 1, 1))
    grid = np.linspace(-1, 1, 4).reshape((1, 4, 1, 1))
    return np.tanh(centers + grid + 0.1 * rng.normal(size=(count, 4, 4, 1))).astype(np.float32)


def create_optimizers(args, rng):
    gen_rng, disc_rng = jax.random.split(rng)
    # Only inside of pmap there is an axis for the batch statistics.
    init_generator = lambda key: Generator().init(key, jnp.ones((1, 4)))
    gen_vars = jax.jit(jax.vmap(init_generator, axis_name="batch"))(gen_rng[None])
    gen_stats, gen_params = jax.tree_map(lambda x: x[0], gen_vars).pop("params")
    disc_params = jax.jit(Discriminator().init)(disc_rng, jnp.ones((1, 4, 4, 1)))["params"]
    make = functools.partial(optim.Adam, beta1=args.beta1, beta2=0.9)
    gen_opt = make(learning_rate=args.learning_rate).create(gen_params)
    disc_opt = make(learning_rate=args.learning_rate).create(disc_params)
    return gen_opt, disc_opt, gen_stats


def rate_of(args, step):
    return args.learning_rate * max(0.0, 1.0 - step / (2.0 * args.steps))


def save(path, gen_opt, disc_opt):
    state = {"generator": gen_opt, "discriminator": disc_opt}
    with open(path, "wb") as f:
        f.write(serialization.to_bytes(jax_utils.unreplicate(state)))


def load(path, gen_opt, disc_opt):
    template = {"generator": gen_opt, "discriminator": disc_opt}
    with open(path, "rb") as f:
        state = serialization.from_bytes(template, f.read())
    return state["generator"], state["discriminator"]


def train(args, workdir):
    rng = jax.random.PRNGKey(args.seed)
    rng, init_rng = jax.random.split(rng)
    gen_opt, disc_opt, gen_stats = create_optimizers(args, init_rng)
    path = os.path.join(workdir, "gan.msgpack")
    if os.path.exists(path):
        gen_opt, disc_opt = load(path, gen_opt, disc_opt)
    first = int(gen_opt.state.step)
    gen_opt, disc_opt = jax_utils.replicate(gen_opt), jax_utils.replicate(disc_opt)
    gen_stats = jax_utils.replicate(gen_stats)

    models = Generator(), Discriminator()
    p_train_step = jax.pmap(
        steps.make_train_step(models, args.loss, args.disc_steps), axis_name="batch"
    )
    p_clip = jax.pmap(functools.partial(steps.clip_weights, limit=args.clip))
    history = []
    for step in range(first, first + args.steps):
        batch = common_utils.shard(images(step, args.batch_size))
        lr = jax_utils.replicate(jnp.float32(rate_of(args, step - first)))
        step_rng = jax_utils.replicate(jax.random.fold_in(rng, step))
        (gen_opt, disc_opt), gen_stats, metrics = p_train_step(
            (gen_opt, disc_opt), gen_stats, step_rng, batch, lr
        )
        if args.clip:
            disc_opt = p_clip(disc_opt)
        metrics = common_utils.get_metrics([metrics])
        history.append(metrics["generator"].mean())
        print(
            "step %d loss %.5f of the discriminator %.5f"
            % (step, metrics["generator"].mean(), metrics["discriminator"].mean()),
            flush=True,
        )
    save(path, gen_opt, disc_opt)
    gen_opt = jax_utils.unreplicate(gen_opt)
    disc_opt = jax_utils.unreplicate(disc_opt)
    return np.array(history), gen_opt.target, disc_opt.target, int(disc_opt.state.step)


def parse(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--learning_rate", type=float, default=2e-3)
    parser.add_argument("--beta1", type=float, default=0.5)
    parser.add_argument("--disc_steps", type=int, default=2)
    parser.add_argument("--clip", type=float, default=0.0)
    parser.add_argument("--loss", default="non_saturating")
    return parser.parse_args(argv)


def run():
    with tempfile.TemporaryDirectory() as workdir:
        args = parse([])
        found = [train(args, workdir), train(args, workdir)]
    with tempfile.TemporaryDirectory() as workdir:
        args = parse(["--loss", "hinge", "--clip", "0.2", "--disc_steps", "1"])
        return found, train(args, workdir)


if __name__ == "__main__":
    run()
