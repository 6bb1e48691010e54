"""Optimizers of two programs are paired by what their parameters are called, or look like."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
from flax.training.train_state import TrainState

from flaxoptim_compat import optim
from flaxoptim_compat.observation import records
from flaxoptim_compat.observation.curves import Runs, report
from flaxoptim_compat.observation.pairing import paired
from flaxoptim_compat.observation.records import Record
from flaxoptim_compat.observation.trajectories import compare
from tests.support.observed import recording

KERNEL, BIAS, OTHER = jnp.ones((20, 30)), jnp.arange(3.0), jnp.arange(3.0) + 7
STEPS = 4


def old(folder: Path) -> Record:
    with recording(folder):
        optimizer = optim.Adam(0.1).create({"dense": {"kernel": KERNEL, "bias": BIAS}, "z": OTHER})
        for _ in range(STEPS):
            optimizer = optimizer.apply_gradient(optimizer.target)
    return records.read(folder)


def new(folder: Path, params: Any, rate: float = 0.1) -> Record:
    with recording(folder):
        state = TrainState.create(apply_fn=None, params=params, tx=optax.adam(rate))
        for _ in range(STEPS):
            state = state.apply_gradients(grads=state.params)
    record = records.read(folder)
    return dataclasses.replace(record, versions={**record.versions, "jax": "another one"})


@pytest.fixture
def then(tmp_path: Path) -> Record:
    (tmp_path / "old").mkdir()
    return old(tmp_path / "old")


@pytest.mark.parametrize(
    ("params", "same"),
    [
        ({"params": {"dense": {"kernel": KERNEL, "bias": BIAS}, "z": OTHER}}, 3),
        ({"dense": {"kernel": {"value": KERNEL}, "bias": {"value": BIAS}}, "z": OTHER}, 3),
        ({"a": OTHER, "linear": {"w": KERNEL, "b": BIAS}}, 0),
        ([BIAS, KERNEL, OTHER], 0),
    ],
)
def test_a_migration_by_hand(params: Any, same: int, then: Record, tmp_path: Path) -> None:
    now, [pair] = paired(then, new(tmp_path, params))
    assert pair.same_paths == same and pair.now.paths != pair.then.paths
    found = compare(then, now)
    assert found.divergence is None and found.steps == found.all_steps == STEPS
    drawn = report([Runs(then, now)], ("old", "new"))
    assert drawn is not None and drawn.equal and drawn.compared == drawn.steps == STEPS
    names = {(track.leaf, track.names) for track in drawn.tracks}
    assert ("dense/kernel", ("parameter", "parameter")) in names
    assert ("dense/bias", ("grad_sq_ema", "nu")) in names


def test_another_rate_parts_at_its_first_step(then: Record, tmp_path: Path) -> None:
    now, _ = paired(then, new(tmp_path, [BIAS, KERNEL, OTHER], rate=0.1001))
    found = compare(then, now).divergence
    assert found is not None and found.state.step == (1,)
    drawn = report([Runs(then, now)], ("old", "new"))
    assert drawn is not None and drawn.first_parting is not None
    parting = drawn.first_parting
    assert (parting.step, parting.leaf, len(parting.values)) == (1, "dense/bias", 2)
    assert parting.index == (1,)


def test_others_have_no_partner(then: Record, tmp_path: Path) -> None:
    other = new(tmp_path, {"w": BIAS})
    now, pairs = paired(then, other)
    assert not pairs and now.states == other.states
    found = compare(then, now).divergence
    assert found is not None and found.is_missing
    assert report([Runs(then, now)], ("old", "new")) is None


def test_roundings_that_grow_tell_nothing_from_then_on(then: Record, tmp_path: Path) -> None:
    """What was recorded stands for a training in which everything is larger in the control."""
    params = {"dense": {"kernel": KERNEL, "bias": BIAS}, "z": OTHER}
    folders = [tmp_path / name for name in ("now", "control")]
    for folder in folders:
        folder.mkdir()
    now = paired(then, new(folders[0], params, rate=0.1001))[0]
    control = paired(then, new(folders[1], jax.tree.map(lambda leaf: leaf * 1.01, params)))[0]
    # By itself, the optimizer has another rate.
    assert compare(then, now, control).divergence is not None
    found = compare(then, dataclasses.replace(now, probes={}), control)
    assert found.divergence is None
    assert [each.grown_from for each in found.by_optimizer] == [1]
