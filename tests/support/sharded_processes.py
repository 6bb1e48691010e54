"""One of several processes that train together; tests/support/sharded_launch.py starts them.

Each optimizer is trained on one mesh over the devices of all processes, and what becomes of it is
saved by all of them. Arguments: the address of the first process, how many there are, which one
this is, and the folder to save to.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
from flax import jax_utils

from flaxoptim_compat.bridge import sharding
from tests.support.sharded_cases import (
    DEFINITIONS,
    TWO_AXES,
    apply,
    assert_moves_only_sums,
    assert_placed,
    gradients,
    mesh,
    parameters,
)

NAMES = ("Adam", "Adafactor", "MultiOptimizer")
STEPS = 3


def create(name: str) -> Any:
    return DEFINITIONS[name]().create(parameters())


def train(name: str, kind: str) -> Any:
    where = mesh(2, 4)
    described = jax.eval_shape(lambda: create(name))
    places = sharding.shardings(where, described, TWO_AXES)
    of_grads = places.target
    tree = jax.jit(lambda: create(name), out_shardings=places)()
    if kind == "TrainState":
        tree = tree.to_train_state()
        places = sharding.shardings(where, tree, TWO_AXES)
        tree = jax.device_put(tree, places)
    step = jax.jit(apply, in_shardings=(places, of_grads), out_shardings=places)
    for number in range(STEPS):
        grads = jax.device_put(gradients(number), of_grads)
        tree = jax.block_until_ready(step(tree, grads))
        assert_placed(tree, places)
    assert_moves_only_sums(name, step.lower(tree, grads).compile().as_text())
    return tree


def train_copies(name: str) -> Any:
    """As programs for several machines did: pmap over all devices, with a copy on each."""

    def step(tree: Any, grads: Any) -> Any:
        return apply(tree, jax.lax.pmean(grads, "batch"))

    mapped = jax.pmap(step, axis_name="batch")
    tree = jax_utils.replicate(create(name))
    for number in range(STEPS):
        # The first device of each process has all there is, so that the mean is exact.
        mine = jax.tree.map(lambda grad: np.stack([4 * grad, *[0 * grad] * 3]), gradients(number))
        tree = jax.block_until_ready(mapped(tree, mine))
    return jax_utils.unreplicate(tree)


def main(address: str, count: int, number: int, folder: Path) -> None:
    jax.distributed.initialize(address, count, number, initialization_timeout=60)
    assert (jax.device_count(), jax.local_device_count()) == (4 * count, 4)
    with ocp.StandardCheckpointer() as checkpointer:
        for name in NAMES:
            for kind in ("Optimizer", "TrainState"):
                checkpointer.save(folder / f"{name}-{kind}", train(name, kind))
    copies = jax.tree.leaves(train_copies("Adam"))
    np.savez(folder / f"copies-{number}.npz", *map(np.asarray, copies))
    jax.distributed.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
