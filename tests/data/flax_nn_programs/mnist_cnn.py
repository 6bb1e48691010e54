# Stands for: the first MNIST example of Flax, a CNN made by shape, with Momentum.
import argparse

import flax
import jax
import jax.numpy as jnp
import numpy as onp
from flax import nn, optim, serialization
from flax.training import checkpoints


class CNN(flax.nn.Module):
    def apply(self, x):
        x = nn.Conv(x, features=8, kernel_size=(3, 3), name="conv1")
        x = nn.relu(x)
        x = nn.avg_pool(x, window_shape=(2, 2), strides=(2, 2))
        x = nn.Conv(x, features=8, kernel_size=(3, 3), name="conv2")
        x = nn.relu(x)
        x = nn.max_pool(x, window_shape=(2, 2), strides=(2, 2))
        x = x.reshape((x.shape[0], -1))
        x = nn.Dense(x, features=16)
        x = nn.relu(x)
        x = nn.Dense(x, features=4)
        return nn.log_softmax(x)


def create_model(key):
    _, initial_params = CNN.init_by_shape(key, [((1, 8, 8, 1), jnp.float32)])
    return nn.Model(CNN, initial_params)


def create_optimizer(model, learning_rate, beta):
    return optim.Momentum(learning_rate=learning_rate, beta=beta).create(model)


@jax.jit
def train_step(optimizer, batch):
    def loss_fn(model):
        logits = model(batch["image"])
        return -jnp.mean(jnp.sum(jax.nn.one_hot(batch["label"], 4) * logits, -1))

    loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
    return optimizer.apply_gradient(grad), loss


def get_batch(step, size=32):
    rng = onp.random.RandomState(step)
    label = rng.randint(4, size=size)
    image = onp.random.RandomState(0).randn(4, 8, 8, 1)[label]
    image = image + 0.3 * rng.randn(*image.shape)
    return {"image": image.astype(onp.float32), "label": label}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--save_every", type=int)
    args = parser.parse_args()
    optimizer = create_optimizer(create_model(jax.random.PRNGKey(0)), 0.05, 0.9)
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)
    for step in range(int(optimizer.state.step), args.steps):
        optimizer, loss = train_step(optimizer, get_batch(step))
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, optimizer, step + 1, keep=2)
    with open(args.workdir + "/final.msgpack", "wb") as f:
        f.write(serialization.to_bytes(optimizer))


if __name__ == "__main__":
    main()
