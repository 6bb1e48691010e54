# Stands for: the prediction of frames with convolutional LSTMs.
import argparse

import jax
import jax.numpy as jnp
import numpy as np
from flax import nn, optim, serialization
from flax.nn.base import Model
from flax.nn.recurrent import ConvLSTM
from flax.training import checkpoints
from jax import random


class Predictor(nn.Module):
    def apply(self, frames, features):
        cell = ConvLSTM.shared(features=features, kernel_size=(3, 3), name="cell")
        size = (*frames.shape[2:4], features)
        carry = ConvLSTM.initialize_carry(random.PRNGKey(0), (frames.shape[0],), size)
        seen = []
        for t in range(frames.shape[1]):
            carry, y = cell(carry, frames[:, t])
            seen.append(y)
        attended = nn.SelfAttention(
            jnp.stack(seen, 1), num_heads=2, attention_axis=(1,), causal_mask=True
        )
        return nn.Conv(attended[:, -1], features=1, kernel_size=(1, 1))


@jax.jit
def train_step(optimizer, frames):
    def loss_fn(model):
        return jnp.mean((model(frames[:, :-1]) - frames[:, -1]) ** 2)

    return step_of(optimizer, loss_fn)


def step_of(optimizer, loss_fn):
    loss, _, grad = optimizer.compute_gradient(lambda model: (loss_fn(model), None))
    return optimizer.apply_gradient(grad), loss


def get_batch(step):
    rng = np.random.RandomState(step)
    start = rng.randint(6, size=4)
    frames = [
        np.eye(6)[(start + t) % 6][:, None, :, None] + np.zeros((4, 6, 6, 1)) for t in range(4)
    ]
    return np.stack(frames, 1).astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--save_every", type=int)
    args = parser.parse_args()
    module = Predictor.partial(features=4)
    _, params = module.init_by_shape(random.PRNGKey(3), [((4, 3, 6, 6, 1), jnp.float32)])
    optimizer = optim.Momentum(learning_rate=0.2).create(Model(module, params))
    optimizer = checkpoints.restore_checkpoint(args.workdir, optimizer)
    for step in range(int(optimizer.state.step), args.steps):
        optimizer, loss = train_step(optimizer, get_batch(step))
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, optimizer, step + 1)
    with open(args.workdir + "/final.msgpack", "wb") as f:
        f.write(serialization.to_bytes(optimizer))


if __name__ == "__main__":
    main()
