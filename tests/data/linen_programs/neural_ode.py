# Stands for: the neural differential equations, stax layers and their list of parameters.
import argparse
import os
import pickle

import jax
import jax.numpy as jnp
import numpy as np
from flax import optim, serialization
from jax import grad, jit, vmap
from jax.experimental import optimizers, stax
from jax.experimental.ode import odeint
from jax.experimental.stax import Dense, FanInConcat, FanOut, Identity, Tanh

TIMES = np.linspace(0.0, 1.0, 6, dtype=np.float32)

# The derivative sees the state, and the state after one layer.
init_dynamics, dynamics = stax.serial(
    FanOut(2), stax.parallel(Identity, stax.serial(Dense(16), Tanh)), FanInConcat(), Dense(2)
)
# A scalar potential, of which the force is the gradient.
init_potential, potential = stax.serial(Dense(12), stax.Softplus, Dense(1))


def field(params, y, _):
    dynamics_params, potential_params = params
    force = grad(lambda x: jnp.reshape(potential(potential_params, x), newshape=()))(y)
    return dynamics(dynamics_params, y) - 0.1 * force


def trajectories(params, starts):
    def solve(y0):
        return odeint(lambda y, t: field(params, y, t), y0, TIMES, rtol=1e-4, atol=1e-4)

    return vmap(solve)(starts)


def loss_fn(params, starts, observed, weight_decay=1e-4):
    predicted = trajectories(params, starts)
    residual = jnp.where(jnp.isfinite(observed), predicted - observed, 0.0)
    middle = jnp.median(jnp.abs(jax.lax.stop_gradient(residual)))
    # A quantile of the errors decides what an outlier is.
    limit = jnp.quantile(jnp.abs(jax.lax.stop_gradient(residual)), 0.98, interpolation="higher")
    residual = jnp.clip(residual, a_min=-limit - middle, a_max=limit + middle)
    return jnp.mean(residual**2) + weight_decay * optimizers.l2_norm(params) ** 2


@jit
def update(optimizer, batch, learning_rate):
    loss, gradient = jax.value_and_grad(loss_fn)(optimizer.target, *batch)
    gradient = optimizers.clip_grads(gradient, 1.0)
    return optimizer.apply_gradient(gradient, learning_rate=learning_rate), loss


def get_batch(step, batch_size=12):
    """A damped rotation, exactly; a few measurements are missing."""
    rng = np.random.RandomState(step)
    starts = rng.uniform(-1, 1, size=(batch_size, 2))
    angle = 2.0 * TIMES.astype(np.float_)
    turned = np.stack(
        [
            np.outer(starts[:, 0], np.cos(angle)) - np.outer(starts[:, 1], np.sin(angle)),
            np.outer(starts[:, 0], np.sin(angle)) + np.outer(starts[:, 1], np.cos(angle)),
        ],
        axis=-1,
    )
    observed = turned * np.exp(-0.5 * TIMES)[:, None]
    observed[rng.uniform(size=observed.shape) < 0.02] = np.nan
    return starts.astype(np.float32), observed.astype(np.float32)


def init_params(rng):
    key1, key2 = jax.random.split(rng)
    _, dynamics_params = init_dynamics(key1, (-1, 2))
    _, potential_params = init_potential(key2, (-1, 2))
    return [dynamics_params, potential_params]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--save_every", type=int, default=50)
    args = parser.parse_args()

    os.makedirs(args.workdir, exist_ok=True)
    optimizer = optim.AdaBelief(beta1=0.9, eps=1e-8).create(init_params(jax.random.PRNGKey(4)))
    path = os.path.join(args.workdir, "latest.pkl")
    if os.path.exists(path):
        with open(path, "rb") as f:
            leaves = pickle.load(f)
        optimizer = jax.tree_unflatten(jax.tree_structure(optimizer), leaves)

    schedule = optimizers.exponential_decay(2e-2, decay_steps=30, decay_rate=0.5)
    for step in range(int(optimizer.state.step), args.steps):
        optimizer, loss = update(optimizer, get_batch(step), schedule(step))
        print("step %d loss %.6f" % (step, loss), flush=True)
        if (step + 1) % args.save_every == 0:
            with open(path + ".tmp", "wb") as f:
                pickle.dump([np.asarray(x) for x in jax.tree_leaves(optimizer)], f)
            os.rename(path + ".tmp", path)

    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(serialization.to_bytes(optimizer))


if __name__ == "__main__":
    main()
