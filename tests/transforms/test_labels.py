"""Labels for ``optax.partition`` by the functions that a ``ModelParamTraversal`` took."""

from __future__ import annotations

import jax.numpy as jnp
import optax

from flaxoptim_compat.transforms import hold, labels
from tests.support.side_by_side import assert_same

PARAMS = {"dense": {"kernel": jnp.ones((2, 3)), "bias": jnp.ones(3)}, "scale": jnp.ones(())}


def test_the_first_filter_that_selects_a_parameter_gives_it_its_label() -> None:
    seen = []

    def is_matrix(path: str, value: object) -> bool:
        seen.append(path)
        return jnp.ndim(value) == 2

    of = labels({"matrices": is_matrix, "dense": lambda path, _: "dense" in path}, "frozen")
    assert of(PARAMS) == {"dense": {"kernel": "matrices", "bias": "dense"}, "scale": "frozen"}
    assert sorted(seen) == ["/dense/bias", "/dense/kernel", "/scale"]


def test_partition_moves_what_is_labelled() -> None:
    of = labels({"biases": lambda path, _: path.endswith("/bias")}, otherwise="frozen")
    tx = optax.partition({"biases": optax.sgd(1.0), "frozen": hold()}, of)
    updates, _ = tx.update(PARAMS, tx.init(PARAMS), PARAMS)
    moved = optax.apply_updates(PARAMS, updates)
    dense = {**PARAMS["dense"], "bias": jnp.zeros(3)}
    assert_same(moved, {**PARAMS, "dense": dense})
