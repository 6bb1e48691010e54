# Stands for: the MNIST examples that came with Flax, a Linen CNN with Momentum.
import argparse

import jax
import jax.numpy as jnp
import numpy as onp
from flax import linen as nn
from flax import optim, serialization
from flax.training import checkpoints
from jax.config import config

config.enable_omnistaging()

NUM_CLASSES = 4
IMAGE_SIZE = 10


class CNN(nn.Module):
    """A small convolutional classifier."""

    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(features=8, kernel_size=(3, 3))(x))
        x = nn.avg_pool(x, window_shape=(2, 2), strides=(2, 2))
        x = x.reshape((x.shape[0], -1))
        x = nn.relu(nn.Dense(features=16)(x))
        x = nn.Dense(features=NUM_CLASSES)(x)
        return nn.log_softmax(x)


def get_dataset(num_examples=256):
    rng = onp.random.RandomState(0)
    templates = rng.normal(size=(NUM_CLASSES, IMAGE_SIZE, IMAGE_SIZE, 1))
    labels = rng.randint(NUM_CLASSES, size=num_examples)
    noise = rng.normal(scale=0.3, size=(num_examples, IMAGE_SIZE, IMAGE_SIZE, 1))
    images = templates[labels] + noise
    return {"image": images.astype(onp.float32), "label": labels.astype(onp.int32)}


def cross_entropy(logits, labels: jnp.DeviceArray) -> jnp.DeviceArray:
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, NUM_CLASSES) * logits, axis=-1))


@jax.jit
def train_step(optimizer, batch, learning_rate):
    """Train for a single step."""

    def loss_fn(params):
        logits = CNN().apply({"params": params}, batch["image"])
        return cross_entropy(logits, batch["label"]), logits

    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, logits), grad = grad_fn(optimizer.target)
    optimizer = optimizer.apply_gradient(grad, learning_rate=learning_rate)
    accuracy = jnp.mean(jnp.argmax(logits, -1) == batch["label"])
    return optimizer, {"loss": loss, "accuracy": accuracy}


def create_optimizer(rng, learning_rate=0.05, beta=0.9):
    params = jax.jit(CNN().init)(rng, jnp.ones([1, IMAGE_SIZE, IMAGE_SIZE, 1]))["params"]
    optimizer_def = optim.Momentum(learning_rate=learning_rate, beta=beta)
    return optimizer_def.create(params)


def rate_at(step, base, steps):
    return base * 0.5 * (1.0 + onp.cos(onp.pi * step / steps))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--save_every", type=int, default=10)
    args = parser.parse_args()

    train_ds = get_dataset()
    rng = jax.random.PRNGKey(0)
    optimizer = create_optimizer(rng)
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)

    num_examples = len(train_ds["image"])
    for step in range(int(optimizer.state.step), args.steps):
        key = jax.random.fold_in(rng, step)
        perm = jax.random.shuffle(key, jnp.arange(num_examples))[:64]
        batch = {k: v[perm, ...] for k, v in train_ds.items()}
        lr = rate_at(step, 0.05, args.steps)
        optimizer, metrics = train_step(optimizer, batch, lr)
        metrics = jax.device_get(metrics)
        print(
            "step %d loss %.5f accuracy %.2f" % (step, metrics["loss"], metrics["accuracy"]),
            flush=True,
        )
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, optimizer, step + 1, keep=3)

    with open(args.workdir + "/final.msgpack", "wb") as f:
        f.write(serialization.to_bytes(optimizer))


if __name__ == "__main__":
    main()
