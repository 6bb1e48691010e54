"""Orbax on eight devices, from mesh to mesh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import orbax.checkpoint as ocp
import pytest
from flax.serialization import to_state_dict
from jax.sharding import SingleDeviceSharding

from flaxoptim_compat.bridge import sharding
from tests.support.sharded_cases import (
    DEFINITIONS,
    TWO_AXES,
    ULPS,
    apply,
    assert_placed,
    gradients,
    mesh,
    parameters,
    restored,
)
from tests.support.side_by_side import assert_same

step = jax.jit(apply)


def created(name: str, kind: str) -> Any:
    optimizer = DEFINITIONS[name]().create(parameters())
    return optimizer.to_train_state() if kind == "TrainState" else optimizer


@pytest.mark.parametrize(
    ("name", "kind"),
    [("WeightNorm", "Optimizer"), ("Adafactor", "TrainState"), ("focus", "TrainState")],
)
def test_saved_on_one_mesh_and_restored_on_another(name: str, kind: str, tmp_path: Path) -> None:
    whole = created(name, kind)
    before = jax.device_put(whole, sharding.shardings(mesh(4, 2), whole, TWO_AXES))
    before = jax.block_until_ready(step(before, gradients(0)))
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "saved", before)
    one = SingleDeviceSharding(jax.devices()[3])
    alone = restored(tmp_path / "saved", whole, jax.tree.map(lambda _: one, whole))
    assert {leaf.sharding for leaf in jax.tree.leaves(alone)} == {one}
    assert_same(alone, before)
    places = sharding.shardings(mesh(2, 4), whole, TWO_AXES)
    again = restored(tmp_path / "saved", whole, places)
    assert_placed(again, places)
    assert_same(again, before)
    after = jax.block_until_ready(step(again, gradients(1)))
    assert_placed(after, places)
    assert_same(after, step(before, gradients(1)), ulps=ULPS[name])


def test_a_state_dict_is_restored_in_its_place(tmp_path: Path) -> None:
    whole = created("Adafactor", "Optimizer")
    before = jax.device_put(whole, sharding.shardings(mesh(4, 2), whole, TWO_AXES))
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "saved", to_state_dict(before))
    places = sharding.shardings(mesh(2, 4), whole, TWO_AXES)
    arrays = restored(tmp_path / "saved", to_state_dict(whole), to_state_dict(places))
    again = whole.restore_state(arrays)
    assert_placed(again, places)
    assert_same(again, before)
