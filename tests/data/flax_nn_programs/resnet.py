# Stands for: ImageNet before Linen, with the statistics of BatchNorm on several devices.
import argparse
import functools
from typing import Any

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, nn, optim, serialization
from flax.training import checkpoints, common_utils
from jax import lax, random


class ResidualBlock(nn.Module):
    def apply(self, x, filters, strides=(1, 1), train=True):
        needs_projection = x.shape[-1] != filters or strides != (1, 1)
        norm = nn.BatchNorm.partial(
            use_running_average=not train, momentum=0.9, epsilon=1e-5, axis_name="batch"
        )
        conv = nn.Conv.partial(bias=False)
        residual = x
        if needs_projection:
            residual = conv(residual, filters, (1, 1), strides, name="proj_conv")
            residual = norm(residual, name="proj_bn")
        y = nn.relu(norm(conv(x, filters, (3, 3), strides, name="conv1"), name="bn1"))
        y = conv(y, filters, (3, 3), name="conv2")
        y = norm(y, name="bn2", scale_init=nn.initializers.zeros)
        return nn.relu(residual + y)


class ResNet(nn.Module):
    def apply(self, x, num_classes, num_filters=4, train=True):
        x = nn.Conv(x, num_filters, (3, 3), bias=False, name="init_conv")
        x = nn.BatchNorm(x, use_running_average=not train, axis_name="batch", name="init_bn")
        for i in range(2):
            strides = (2, 2) if i > 0 else (1, 1)
            x = ResidualBlock(x, num_filters * 2**i, strides=strides, train=train)
        x = jnp.mean(x, axis=(1, 2))
        return nn.log_softmax(nn.Dense(x, num_classes, kernel_init=nn.initializers.normal(0.1)))


@flax.struct.dataclass
class TrainState:
    step: int
    optimizer: Any
    model_state: nn.Collection


def create_state(rng, classes):
    module = ResNet.partial(num_classes=classes)
    with nn.stateful() as init_state:
        _, params = module.init_by_shape(rng, [((2, 8, 8, 3), jnp.float32)])
    optimizer = optim.Momentum(beta=0.9, nesterov=True).create(nn.Model(module, params))
    return TrainState(step=0, optimizer=optimizer, model_state=init_state)


def train_step(state, batch, learning_rate):
    def loss_fn(model):
        with nn.stateful(state.model_state) as new_model_state:
            logits = model(batch["image"])
        loss = -jnp.mean(jnp.sum(common_utils.onehot(batch["label"], 4) * logits, axis=-1))
        penalty = sum(jnp.sum(x**2) for x in jax.tree_leaves(model.params) if x.ndim > 1)
        return loss + 1e-4 * penalty, new_model_state

    (loss, model_state), grad = jax.value_and_grad(loss_fn, has_aux=True)(state.optimizer.target)
    grad = lax.pmean(grad, axis_name="batch")
    optimizer = state.optimizer.apply_gradient(grad, learning_rate=learning_rate)
    state = state.replace(step=state.step + 1, optimizer=optimizer, model_state=model_state)
    return state, lax.pmean(loss, axis_name="batch")


def sync_batch_stats(state):
    mean = jax.pmap(lambda x: lax.pmean(x, "x"), axis_name="x")
    return state.replace(model_state=mean(state.model_state))


def get_batch(step):
    rng = np.random.RandomState(step)
    label = rng.randint(4, size=16)
    image = np.random.RandomState(0).randn(4, 8, 8, 3)[label] + 0.3 * rng.randn(16, 8, 8, 3)
    batch = {"image": image.astype(np.float32), "label": label}
    return common_utils.shard(batch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--save_every", type=int)
    args = parser.parse_args()
    state = create_state(random.PRNGKey(0), classes=4)
    state = checkpoints.restore_checkpoint(args.workdir, state)
    first = int(state.step)
    state = jax_utils.replicate(state)
    p_train_step = jax.pmap(functools.partial(train_step), axis_name="batch")
    for step in range(first, args.steps):
        rate = jax_utils.replicate(0.1 * min(1.0, (step + 1) / 5))
        state, loss = p_train_step(state, get_batch(step), rate)
        print("step %d loss %.5f" % (step, jax_utils.unreplicate(loss)), flush=True)
        if (step + 1) % args.save_every == 0:
            state = sync_batch_stats(state)
            saved = jax.device_get(jax.tree_map(lambda x: x[0], state))
            checkpoints.save_checkpoint(args.workdir, saved, step + 1, keep=3)
    state = jax.device_get(jax.tree_map(lambda x: x[0], state))
    with nn.stateful(state.model_state, mutable=False):
        test = state.optimizer.target(get_batch(10**6)["image"][0], train=False)
    with open(args.workdir + "/final.msgpack", "wb") as f:
        f.write(serialization.to_bytes({"state": state, "test": test}))


if __name__ == "__main__":
    main()
