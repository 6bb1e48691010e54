# Stands for: PixelCNN++ before Linen: weight norm that looks at the data, dropout, an average.
import argparse

import jax
import jax.numpy as jnp
import numpy as np
from flax import nn, optim, serialization
from flax.training import checkpoints
from jax import lax, random


class ConvWeightNorm(nn.Module):
    def apply(self, inputs, features, kernel_size=(2, 3), init_scale=1.0):
        pad = ((kernel_size[0] - 1, 0), (kernel_size[1] // 2,) * 2)
        padded = jnp.pad(inputs, ((0, 0), pad[0], pad[1], (0, 0)))
        shape = (*kernel_size, inputs.shape[-1], features)
        direction = self.param("direction", shape, nn.initializers.normal())
        direction = direction * lax.rsqrt(jnp.sum(direction**2, (0, 1, 2)) + 1e-8)
        y = lax.conv_general_dilated(
            padded, direction, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        # Made for the first batch to have mean 0 and variance 1.
        scale = self.param(
            "scale", (features,), lambda rng, shape: init_scale / jnp.std(y, axis=(0, 1, 2))
        )
        y = y * scale
        bias = self.param("bias", (features,), lambda rng, shape: -jnp.mean(y, axis=(0, 1, 2)))
        return y + bias


def concat_elu(x):
    return nn.elu(jnp.concatenate((x, -x), -1))


class GatedResnet(nn.Module):
    def apply(self, x, dropout_p):
        y = ConvWeightNorm(concat_elu(x), x.shape[-1])
        y = concat_elu(y)
        if dropout_p > 0:
            y = nn.dropout(y, dropout_p, rng=nn.make_rng())
        y = ConvWeightNorm(y, 2 * x.shape[-1], init_scale=0.1)
        a, b = jnp.split(y, 2, axis=-1)
        return x + a * nn.sigmoid(b)


class PixelCNN(nn.Module):
    def apply(self, images, depth=2, features=6, dropout_p=0.3):
        down = jnp.pad(images, ((0, 0), (1, 0), (0, 0), (0, 0)))[:, :-1]
        x = ConvWeightNorm(down, features, (2, 3), name="first")
        for _ in range(depth):
            x = GatedResnet(x, dropout_p)
        return ConvWeightNorm(nn.elu(x), 1, (1, 1), name="nin")


@jax.jit
def train_step(optimizer, ema, batch, rng, rate):
    def loss_fn(model):
        with nn.stochastic(rng):
            logits = model(batch)
        return jnp.mean(nn.softplus(logits) - batch * logits)

    loss, grad = jax.value_and_grad(loss_fn)(optimizer.target)
    optimizer = optimizer.apply_gradient(grad, learning_rate=rate)
    ema = jax.tree_multimap(lambda e, p: e + 0.1 * (p - e), ema, optimizer.target.params)
    return optimizer, ema, loss


def get_batch(step):
    rng = np.random.RandomState(step)
    rows = np.random.RandomState(0).rand(3, 6, 6, 1) > 0.5
    return rows[rng.randint(3, size=16)].astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--save_every", type=int)
    args = parser.parse_args()
    rng = random.PRNGKey(1)
    with nn.stochastic(rng):
        _, params = PixelCNN.init(rng, get_batch(0), dropout_p=0.0)
    optimizer = optim.Momentum(learning_rate=0.05).create(nn.Model(PixelCNN, params))
    optimizer, ema = checkpoints.restore_checkpoint(args.workdir, (optimizer, params))
    for step in range(int(optimizer.state.step), args.steps):
        key = random.fold_in(rng, step)
        optimizer, ema, loss = train_step(optimizer, ema, get_batch(step), key, 0.1)
        print("step %d loss %.5f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, (optimizer, ema), step + 1)
    sharp = optimizer.target.replace(params=ema)(get_batch(1), dropout_p=0.0)
    with open(args.workdir + "/final.msgpack", "wb") as f:
        f.write(serialization.to_bytes({"optimizer": optimizer, "ema": ema, "y": sharp}))


if __name__ == "__main__":
    main()
