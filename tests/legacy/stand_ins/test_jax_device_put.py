"""Arrays on several devices, in copies and in parts."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from flaxoptim_compat.legacy.stand_ins import jax_functions
from tests.support.vectors import X


@pytest.mark.parametrize("number", [1, 3])
def test_device_put(number: int) -> None:
    devices = jax.local_devices()[:number]
    tree = {"a": np.arange(6.0, dtype=np.float32).reshape(2, 3), "b": 1}
    replicated = jax_functions.device_put_replicated(tree, devices)
    assert replicated["a"].shape == (number, 2, 3) and replicated["b"].shape == (number,)
    assert [shard.device for shard in replicated["a"].addressable_shards] == devices
    shards = [jax.tree.map(lambda leaf, i=i: leaf + i, tree) for i in range(number)]
    sharded = jax_functions.device_put_sharded(shards, devices)
    summed = jax.pmap(lambda one, other: one["a"] + other["a"], devices=devices)(
        replicated, sharded
    )
    for i in range(number):
        assert np.array_equal(summed[i], 2 * tree["a"] + i)
    with pytest.raises(ValueError, match="empty"):
        jax_functions.device_put_replicated(tree, [])
    if number > 1:
        with pytest.raises(ValueError, match="same shapes"):
            jax_functions.device_put_sharded([X, X[:2], X], devices)
