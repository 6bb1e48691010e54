# Stands for: the NeRF trainers, Adam whose rate is given at every step, and which forgets moments.
import argparse
import functools
import os

import flax
import jax
import jax.numpy as jnp
import numpy as np
import rendering
from flax import optim, traverse_util
from flax.core import freeze, unfreeze
from flax.training import checkpoints


@flax.struct.dataclass
class TrainState:
    optimizer: flax.optim.Optimizer


def learning_rate_decay(step, max_steps, lr_init=1e-2, lr_final=2e-3):
    t = np.clip(step / max_steps, 0, 1)
    return np.exp(np.log(lr_init) * (1 - t) + np.log(lr_final) * t)


@functools.partial(jax.jit, static_argnums=(0,), donate_argnums=(2,))
def train_step(model, rng, state, batch, lr):
    rng = jax.random.fold_in(rng, state.optimizer.state.step)

    def loss_fn(variables):
        coarse, fine = model.apply(variables, rng, batch["rays"])
        loss_c = jnp.mean((coarse - batch["pixels"]) ** 2)
        loss_f = jnp.mean((fine - batch["pixels"]) ** 2)
        return loss_c + loss_f, loss_f

    (loss, loss_f), grad = jax.value_and_grad(loss_fn, has_aux=True)(state.optimizer.target)
    new_optimizer = state.optimizer.apply_gradient(grad, learning_rate=lr)
    psnr = -10.0 * jnp.log(loss_f) / np.log(10.0)
    return state.replace(optimizer=new_optimizer), {"loss": loss, "psnr": psnr}


def forget_moments(optimizer, module):
    """Set the moments of one module to zero, and keep all others."""
    moments = traverse_util.flatten_dict(unfreeze(optimizer.state.param_states))
    for path, state in moments.items():
        if module in path:
            moments[path] = flax.optim.adam._AdamParamState(
                jnp.zeros_like(state.grad_ema), jnp.zeros_like(state.grad_sq_ema)
            )
    state = flax.optim.OptimizerState(
        step=optimizer.state.step,
        param_states=freeze(traverse_util.unflatten_dict(moments)),
    )
    return optimizer.replace(state=state)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--save_every", type=int, default=100)
    args = parser.parse_args()
    rng = jax.random.PRNGKey(20200823)
    model = rendering.NerfModel()
    variables = model.init(rng, rng, rendering.get_rays(0)["rays"])
    num_params = sum(np.product(x.shape) for x in jax.tree_leaves(variables))
    optimizer = optim.Adam(0.0, eps=1e-6).create(variables)
    state = TrainState(optimizer=optimizer)
    del optimizer, variables

    state = checkpoints.restore_checkpoint(args.workdir, state)
    init_step = int(state.optimizer.state.step)
    print(f"training {num_params} parameters from step {init_step}", flush=True)

    for step in range(init_step, args.steps):
        lr = learning_rate_decay(step, args.steps)
        if step in (6, 18):
            state = state.replace(optimizer=forget_moments(state.optimizer, "fine"))
        state, stats = train_step(model, rng, state, rendering.get_rays(step), lr)
        print(f"step {step} loss {stats['loss']:0.5f} psnr {stats['psnr']:0.2f}", flush=True)
        if (step + 1) % args.save_every == 0:
            checkpoints.save_checkpoint(args.workdir, state, step + 1, keep=100)

    with open(os.path.join(args.workdir, "final.msgpack"), "wb") as f:
        f.write(flax.serialization.to_bytes(state.optimizer))


if __name__ == "__main__":
    main()
