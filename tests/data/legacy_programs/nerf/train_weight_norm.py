# Stands for: the deformable NeRF trainers, WeightNorm around Adam with the state taken apart.
import argparse
import os

import jax
import jax.numpy as jnp
import rendering
from flax import optim, serialization, struct, traverse_util
from flax.core import freeze, unfreeze
from flax.optim.adam import Adam
from flax.training import checkpoints


@struct.dataclass
class ScalarParams:
    learning_rate: float
    fine_weight: float = 1.0


@struct.dataclass
class TrainState:
    optimizer: optim.Optimizer
    fine_alpha: jnp.DeviceArray


def scalars_at(step, steps):
    return ScalarParams(learning_rate=1e-2 * 0.2 ** (step / steps), fine_weight=0.5)


def make_train_step(model):
    def train_step(rng: jax.random.KeyArray, state, batch, scalars):
        rng = jax.random.fold_in(rng, state.optimizer.state.step)

        def loss_fn(params):
            coarse, fine = model.apply({"params": params["model"]}, rng, batch["rays"])
            loss = jnp.mean((coarse - batch["pixels"]) ** 2)
            fine_loss = jnp.mean((fine - batch["pixels"]) ** 2)
            return loss + state.fine_alpha * scalars.fine_weight * fine_loss

        loss, grad = jax.value_and_grad(loss_fn)(state.optimizer.target)
        optimizer = state.optimizer.apply_gradient(grad, learning_rate=scalars.learning_rate)
        return state.replace(optimizer=optimizer), loss

    return jax.jit(train_step)


def restart_module(optimizer, name):
    """Restart the moments of a module, both of its directions and of its scales."""

    def zero_moments(state):
        return jax.tree_map(jnp.zeros_like, state)

    flat_states = traverse_util.flatten_dict(unfreeze(optimizer.state.param_states))
    for path in flat_states:
        if name in path:
            flat_states[path] = flat_states[path].replace(
                direction_state=zero_moments(flat_states[path].direction_state),
                scale_state=zero_moments(flat_states[path].scale_state),
            )
    param_states = freeze(traverse_util.unflatten_dict(flat_states))
    return optimizer.replace(state=optimizer.state.replace(param_states=param_states))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--save_every", type=int, default=100)
    parser.add_argument("--restart_steps", type=int, nargs="*", default=[6, 18])
    args = parser.parse_args()

    rng = jax.random.PRNGKey(2021)
    model = rendering.NerfModel()
    params = jax.jit(model.init)(rng, rng, rendering.get_rays(0)["rays"])["params"]
    optimizer_def = optim.WeightNorm(Adam(learning_rate=1e-2))
    optimizer = optimizer_def.create(freeze({"model": params}))
    state = TrainState(optimizer=optimizer, fine_alpha=jnp.ones(()))
    state = checkpoints.restore_checkpoint(args.workdir, state)

    train_step = make_train_step(model)
    for step in range(int(state.optimizer.state.step), args.steps):
        if step in args.restart_steps:
            optimizer = restart_module(state.optimizer, "fine")
            state = state.replace(optimizer=optimizer, fine_alpha=jnp.asarray(0.5))
        batch = rendering.get_rays(step)
        state, loss = train_step(rng, state, batch, scalars_at(step, args.steps))
        print("step", step, "loss", "%.5f" % loss, flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, state, step=step + 1, keep=2)

    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(serialization.to_bytes(state))


if __name__ == "__main__":
    main()
