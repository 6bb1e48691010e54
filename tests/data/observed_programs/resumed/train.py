import sys

import flax
import jax
import jax.numpy as jnp
from flax.training import checkpoints

from state import State


@jax.jit
def step(state, lr):
    grads = jax.grad(lambda p: jnp.sum(p["w"] ** 2))(state.optimizer.target)
    return state.replace(optimizer=state.optimizer.apply_gradient(grads, learning_rate=lr))


def main(folder):
    state = State(optimizer=flax.optim.Adam(0.1).create({"w": jnp.ones(3)}))
    for i in range(3):
        state = step(state, 0.1 / (i + 1))
    checkpoints.save_checkpoint(folder, state, 3)


if __name__ == "__main__":
    main(sys.argv[1])
