import sys

import flax
import jax.numpy as jnp
from flax.training import checkpoints

from state import State


def main(folder):
    state = State(optimizer=flax.optim.Adam(0.1).create({"w": jnp.ones(3)}))
    state = checkpoints.restore_checkpoint(folder, state)
    print(int(state.optimizer.state.step), state.optimizer.target)


if __name__ == "__main__":
    main(sys.argv[1])
