"""Orbax on eight devices, from mesh to mesh, and from two processes to one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
import pytest
from flax.serialization import to_state_dict
from jax.sharding import SingleDeviceSharding

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import sharding
from tests.support import sharded_launch, sharded_processes
from tests.support.places import ROOT
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


def on_one_device(name: str) -> Any:
    optimizer = DEFINITIONS[name]().create(parameters())
    for number in range(sharded_processes.STEPS):
        optimizer = step(optimizer, gradients(number))
    return optimizer


@pytest.mark.exhaustive
def test_on_two_processes_and_from_there_on_one(tmp_path: Path) -> None:
    program = ROOT / "tests" / "support" / "sharded_processes.py"
    arguments = ["{address}", "2", "{number}", str(tmp_path)]
    sharded_launch.run_together(program, arguments, tmp_path, seconds=240)
    for name in sharded_processes.NAMES:
        expected = on_one_device(name)
        for kind in ("Optimizer", "TrainState"):
            tree = created(name, kind)
            places = sharding.shardings(mesh(2, 2), tree, TWO_AXES)
            found = restored(tmp_path / f"{name}-{kind}", tree, places)
            assert_placed(found, places)
            if kind == "TrainState":
                found = optim.Optimizer.from_train_state(found, expected.optimizer_def)
            assert_same(found, expected, ulps=ULPS[name])
    adam = on_one_device("Adam")
    for process in range(2):
        with np.load(tmp_path / f"copies-{process}.npz") as file:
            copies = jax.tree.unflatten(jax.tree.structure(adam), list(file.values()))
        # The mean over the devices is compiled into one loop with the update.
        assert_same(copies, adam, ulps=4.0)
