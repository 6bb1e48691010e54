"""Checkpoints: what they hold, and that nothing is lost between writing and reading them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization
from flax.core import FrozenDict
from flax.training import checkpoints

from flaxoptim_compat import optim
from tests.support.cases import Case, case
from tests.support.optimizer_checkpoints import LAYOUTS, TrainState, checkpointing_with_orbax
from tests.support.options import ONE_EACH, each, each_case
from tests.support.side_by_side import assert_same_bits
from tests.support.training import create, train

WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "bytes": lambda fresh, source: serialization.from_bytes(fresh, serialization.to_bytes(source)),
    "state_dict": lambda fresh, source: serialization.from_state_dict(
        fresh, serialization.to_state_dict(source)
    ),
    "methods": lambda fresh, source: fresh.restore_state(source.state_dict()),
}


# An average, two of them, factors, what Adafactor does not use, names below others, and parts.
FEW = [
    case(name)
    for name in (
        "Momentum-default", "Adam-default", "Adafactor-bf16_momentum", "WeightNorm-over_Adafactor",
        "MultiOptimizer-three",
    )
]  # fmt: skip
every_layout = pytest.mark.parametrize("entry", each(LAYOUTS, FEW))


@functools.cache
def _trained(name: str) -> Any:
    return train(create(case(name), optim), case(name), range(3))


def trained(entry: Case) -> Any:
    return _trained(entry.name)


def described(tree: Any) -> list[tuple[Any, ...]]:
    """Path, type, shape, dtype and weakness of all leaves, None counting as one."""
    leaves = jax.tree_util.tree_leaves_with_path(tree, is_leaf=lambda leaf: leaf is None)
    return [
        (path, type(leaf), np.shape(leaf), getattr(leaf, "dtype", None), _weak(leaf))
        for path, leaf in leaves
    ]


def _weak(leaf: Any) -> bool:
    return bool(getattr(leaf, "weak_type", False))


@pytest.mark.parametrize("entry", each_case(ONE_EACH))
def test_fresh_state_dict_is_that_of_the_genuine_to_the_bit(genuine: Any, entry: Case) -> None:
    mine, theirs = (serialization.to_state_dict(create(entry, each)) for each in (optim, genuine))
    assert described(mine) == described(theirs)
    assert_same_bits(mine, theirs)
    assert_same_bits(create(entry, optim).state_dict(), mine)


@every_layout
def test_state_dict_after_a_step_has_the_layout_of_the_genuine(genuine: Any, entry: Case) -> None:
    mine, theirs = (
        serialization.to_state_dict(train(create(entry, each), entry, range(1)))
        for each in (optim, genuine)
    )
    assert described(mine) == described(theirs)
    assert {type(leaf) for leaf in jax.tree.leaves(mine)} == {type(jnp.zeros(()))}
    assert (mine["state"]["step"].dtype, mine["state"]["step"].shape) == (jnp.int32, ())


@pytest.mark.parametrize("way", WAYS)
@every_layout
def test_round_trip_restores_treedef_and_bits(entry: Case, way: str) -> None:
    source, fresh = trained(entry), create(entry, optim)
    restored = WAYS[way](fresh, source)
    assert restored.optimizer_def is fresh.optimizer_def
    assert_same_bits(restored, source)
    assert int(restored.state.step) == 3
    assert int(fresh.state.step) == 0


@every_layout
def test_dict_and_frozen_dict_targets_write_and_read_the_same_bytes(entry: Case) -> None:
    params = jax.tree.map(jnp.asarray, entry.parameters())
    plain, frozen = (entry.build(optim).create(tree) for tree in (params, FrozenDict(params)))
    written = serialization.to_bytes(frozen)
    assert written == serialization.to_bytes(plain)
    assert isinstance(frozen.state.param_states, FrozenDict)
    for fresh in (plain, frozen):
        assert_same_bits(serialization.from_bytes(fresh, written), fresh)


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "TrainState"])
@pytest.mark.parametrize("orbax", [False, True], ids=["msgpack", "orbax"])
@pytest.mark.parametrize(
    "name", ["Adafactor-bf16_momentum", "MultiOptimizer-two", "WeightNorm-over_Momentum"]
)
@pytest.mark.filterwarnings("ignore:Flax Checkpointing will soon be deprecated")
def test_checkpoint_files(tmp_path: Path, name: str, orbax: bool, wrapped: bool) -> None:
    source, fresh = trained(case(name)), create(case(name), optim)
    if wrapped:
        source, fresh = TrainState(source, jnp.asarray(7)), TrainState(fresh, jnp.asarray(0))
    with checkpointing_with_orbax(orbax):
        checkpoints.save_checkpoint(tmp_path, source, step=3)
        assert_same_bits(checkpoints.restore_checkpoint(tmp_path, fresh), source)
