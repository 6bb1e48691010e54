# Stands for: the ImageNet trainers, with pmap, donation, batch statistics and a state in a struct.
import argparse
import functools
import os
from typing import Any

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, optim
from flax.training import checkpoints, common_utils
from jax import lax

NUM_CLASSES = 5


class ResNet(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        norm = functools.partial(nn.BatchNorm, use_running_average=not train, momentum=0.9)
        x = nn.Conv(8, (3, 3), use_bias=False, name="conv_init")(x)
        x = nn.relu(norm(name="bn_init")(x))
        y = nn.Conv(8, (3, 3), use_bias=False)(x)
        x = nn.relu(x + norm(scale_init=nn.initializers.zeros)(y))
        x = nn.avg_pool(x, (4, 4), strides=(4, 4)).reshape((x.shape[0], -1))
        return nn.Dense(NUM_CLASSES)(x)


@flax.struct.dataclass
class TrainState:
    step: int
    optimizer: flax.optim.Optimizer
    model_state: Any


def cosine_rate(base, step, total, warmup=4):
    warm = base * (step + 1) / warmup
    cosine = 0.5 * base * (1 + jnp.cos(jnp.pi * step / total))
    return jnp.where(step < warmup, warm, cosine)


def train_step(apply_fn, rate_fn, state, batch):
    def loss_fn(params):
        variables = {"params": params, **state.model_state}
        logits, new_model_state = apply_fn(variables, batch["image"], mutable=["batch_stats"])
        one_hot = common_utils.onehot(batch["label"], num_classes=NUM_CLASSES)
        loss = -jnp.mean(jnp.sum(one_hot * jax.nn.log_softmax(logits), axis=-1))
        kernels = [x for x in jax.tree_leaves(params) if x.ndim > 1]
        penalty = 1e-4 * 0.5 * sum(jnp.sum(x**2) for x in kernels)
        return loss + penalty, new_model_state

    (loss, new_model_state), grad = jax.value_and_grad(loss_fn, has_aux=True)(
        state.optimizer.target
    )
    grad = lax.pmean(grad, axis_name="batch")
    new_optimizer = state.optimizer.apply_gradient(grad, learning_rate=rate_fn(state.step))
    new_state = state.replace(
        step=state.step + 1, optimizer=new_optimizer, model_state=new_model_state
    )
    return new_state, lax.pmean(loss, axis_name="batch")


average_over_devices = jax.pmap(lambda x: lax.pmean(x, "x"), "x")


def sync_batch_stats(state):
    new_model_state, batch_stats = state.model_state.pop("batch_stats")
    batch_stats = average_over_devices(batch_stats)
    return state.replace(model_state=new_model_state.copy({"batch_stats": batch_stats}))


def save_checkpoint(state, workdir):
    if jax.host_id() == 0:
        state = jax.device_get(jax.tree_map(lambda x: x[0], state))
        checkpoints.save_checkpoint(workdir, state, int(state.step), keep=3)


def data(templates, step, batch_size):
    rng = np.random.RandomState(step)
    label = rng.randint(NUM_CLASSES, size=batch_size)
    image = templates[label] + rng.normal(scale=0.5, size=(batch_size,) + templates.shape[1:])
    return common_utils.shard({"image": image.astype(np.float32), "label": label})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--save_every", type=int, default=10)
    args = parser.parse_args()

    templates = np.random.RandomState(42).normal(size=(NUM_CLASSES, 8, 8, 3))
    model = ResNet()
    variables = jax.jit(model.init)(jax.random.PRNGKey(0), jnp.ones((1, 8, 8, 3)))
    model_state, params = variables.pop("params")
    optimizer = optim.Momentum(beta=0.9, nesterov=True).create(params)
    state = TrainState(step=0, optimizer=optimizer, model_state=model_state)
    state = checkpoints.restore_checkpoint(args.workdir, state)
    step_offset = int(state.step)
    state = jax_utils.replicate(state)

    rate_fn = functools.partial(cosine_rate, 0.1, total=args.steps)
    p_train_step = jax.pmap(
        functools.partial(train_step, model.apply, rate_fn), axis_name="batch", donate_argnums=(0,)
    )
    for step in range(step_offset, args.steps):
        state, loss = p_train_step(state, data(templates, step, 32))
        assert int(state.optimizer.state.step[0]) == step + 1
        print(f"step {step} loss {loss[0]:.5f}", flush=True)
        if (step + 1) % args.save_every == 0:
            state = sync_batch_stats(state)
            save_checkpoint(state, args.workdir)

    state = jax_utils.unreplicate(sync_batch_stats(state))
    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(state))


if __name__ == "__main__":
    main()
