"""Trains in T5X's state on a mesh of eight devices: ``python -m tests.t5x_mesh``.

Prints one line for each definition that came out as it should.
"""

from __future__ import annotations

from typing import Any

import jax
from flax.linen.partitioning import logical_to_mesh_axes
from jax.sharding import NamedSharding

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import t5x
from tests import t5x_models as models
from tests.side_by_side import assert_same

DEFINITIONS = {
    "Adam": lambda: optim.Adam(0.1, weight_decay=0.01),
    "Adafactor": lambda: optim.Adafactor(0.1, min_dim_size_to_factor=8, beta1=0.9),
    "MultiOptimizer": lambda: optim.MultiOptimizer(
        (optim.ModelParamTraversal(lambda path, _: "dense" in path), optim.Momentum(0.1)),
        (
            optim.ModelParamTraversal(lambda path, _: "stack" in path),
            optim.WeightNorm(optim.Adam(0.1)),
        ),
    ),
}
STEPS = 3


def step(state: Any, grads: Any) -> Any:
    return state.apply_gradient(grads, learning_rate=0.05)


def train(state: Any, compiled: Any) -> Any:
    for number in range(STEPS):
        state = compiled(state, models.gradients(number))
    return state


def create(name: str) -> Any:
    definition = t5x.with_logical_axes(DEFINITIONS[name]())
    return t5x.FlaxOptimTrainState.create(definition, models.variables())


def check(name: str, mesh: Any) -> None:
    state = create(name)
    shardings = jax.tree.map(
        lambda names: NamedSharding(mesh, logical_to_mesh_axes(names, models.RULES)),
        state.as_logical_axes(),
    )
    # The step and the axes have no sharding of their own: None is left to jit.
    in_mesh = jax.jit(
        step, in_shardings=(shardings, None), out_shardings=shardings, donate_argnums=0
    )
    after = train(jax.device_put(create(name), shardings), in_mesh)
    placed = jax.tree.map(
        lambda leaf, sharding: leaf.sharding.is_equivalent_to(sharding, leaf.ndim),
        (after.params, after.param_states),
        (shardings.params, shardings.param_states),
    )
    assert all(jax.tree.leaves(placed)), placed
    kernel = after.params["dense"]["kernel"]
    assert {shard.data.shape for shard in kernel.addressable_shards} == {(8, 4)}

    bare = jax.jit(
        step, in_shardings=(shardings._optimizer, None), out_shardings=shardings._optimizer
    )
    assert_same(after._optimizer, train(state._optimizer, bare))
    # Sums over a sharded axis are added up in another order.
    alone = train(state, jax.jit(step))
    assert_same(after._optimizer, alone._optimizer, ulps=4.0)


def main() -> None:
    axis_types = (jax.sharding.AxisType.Auto,) * 2
    mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=axis_types)
    for name in DEFINITIONS:
        check(name, mesh)
        print(name)


if __name__ == "__main__":
    main()
