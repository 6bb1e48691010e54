# Stands for: the trainers of models in bfloat16, Adafactor, and files that are written by hand.
import argparse
import glob
import os
from functools import partial
from typing import Any

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from flax import optim, serialization
from flax.optim.dynamic_scale import DynamicScale
from jax.tree_util import tree_multimap

WIDTH, FEATURES, OUTPUTS = 16, 12, 4


class Model(nn.Module):
    dtype: Any = jnp.bfloat16

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(WIDTH, dtype=self.dtype, name="in")(x)
        gate = nn.softmax(
            nn.Dense(WIDTH, dtype=self.dtype, use_bias=False, name="gate")(x), axis=-1
        )
        x = nn.LayerNorm(dtype=self.dtype, name="norm")(x + WIDTH * gate * x)
        return nn.Dense(OUTPUTS, dtype=jnp.float32, name="out")(nn.tanh(x))


@flax.struct.dataclass
class State:
    step: int
    body: optim.Optimizer
    head: optim.Optimizer
    dynamic_scale: DynamicScale


def split(params):
    """The head has an optimizer for itself, which sees directions and lengths apart."""
    body = {name: value for name, value in params.items() if name != "out"}
    return flax.core.freeze(body), flax.core.freeze({"out": params["out"]})


@jax.jit
def train_step(state, batch, lr):
    x, y = batch

    def loss_fn(params):
        body, head = params
        predicted = Model().apply({"params": {**body, **head}}, x)
        # Only 32 bits, unless jax_enable_x64 was set.
        error = predicted.astype(jnp.float64) - jnp.asarray(y, jnp.float64)
        return jnp.mean(jnp.sum(error**2, axis=-1))

    grad_fn = state.dynamic_scale.value_and_grad(loss_fn)
    dynamic_scale, is_finite, loss, (body_grad, head_grad) = grad_fn(
        (state.body.target, state.head.target)
    )
    keep = partial(jnp.where, is_finite)
    body = state.body.apply_gradient(body_grad, learning_rate=lr)
    head = state.head.apply_gradient(head_grad, learning_rate=0.1 * lr)
    state = state.replace(
        step=state.step + 1,
        body=tree_multimap(keep, body, state.body),
        head=jax.tree_util.tree_multimap(keep, head, state.head),
        dynamic_scale=dynamic_scale,
    )
    return state, loss


def get_batch(step, batch_size=64):
    teacher = np.random.RandomState(0).normal(size=(FEATURES, OUTPUTS)) / 2
    rng = np.random.RandomState(step + 1)
    x = rng.normal(size=(batch_size, FEATURES))
    return x.astype(np.float32), np.tanh(x @ teacher).astype(np.float64)


def initial_params():
    """From numpy, as they come from files of other frameworks."""
    rng = np.random.RandomState(12)
    shapes = jax.eval_shape(Model().init, jax.random.PRNGKey(0), get_batch(0)[0])["params"]
    return jax.tree_map(
        lambda x: rng.normal(scale=0.4, size=x.shape).astype(np.dtype(x.dtype)), shapes
    )


def save(state, workdir, step):
    state_dict = serialization.to_state_dict(jax.device_get(state))
    # For those who look at it later; what restores does not know them.
    state_dict["body"]["target"]["old_head"] = {"kernel": np.zeros((WIDTH, 2), np.float32)}
    state_dict["head"]["state"]["param_states"]["old_head"] = {"kernel": None}
    path = os.path.join(workdir, "step_%06d.msgpack" % step)
    with open(path + ".tmp", "wb") as f:
        f.write(serialization.msgpack_serialize(state_dict))
    os.rename(path + ".tmp", path)


def restore(state, workdir):
    files = sorted(glob.glob(os.path.join(workdir, "step_*.msgpack")))
    if not files:
        return state
    with open(files[-1], "rb") as f:
        return serialization.from_state_dict(state, serialization.msgpack_restore(f.read()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--save_every", type=int, default=100)
    args = parser.parse_args()
    os.makedirs(args.workdir, exist_ok=True)

    body, head = split(initial_params())
    body_def = optim.Adafactor(beta1=0.9, decay_rate=0.8, min_dim_size_to_factor=8)
    head_def = optim.WeightNorm(optim.Momentum(beta=0.9), wn_decay=1e-4)
    scale = DynamicScale(growth_interval=8, scale=2.0**12)
    state = State(0, body_def.create(body), head_def.create(head), scale)
    state = restore(state, args.workdir)
    for step in range(int(state.step), args.steps):
        state, loss = train_step(state, get_batch(step), 0.05 / np.sqrt(max(step, 5)))
        print("step %d loss %.5f on %s" % (step, loss, loss.device()), flush=True)
        if (step + 1) % args.save_every == 0:
            save(state, args.workdir, step + 1)

    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(serialization.to_bytes(state))


if __name__ == "__main__":
    main()
