"""Checkpoints: what they hold, and that nothing is lost between writing and reading them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
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
from tests.support.cases import Case, case, gradients
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
def test_restored_optimizer_reuses_the_compiled_step(entry: Case) -> None:
    traces = 0

    @jax.jit
    def step(optimizer: Any, grads: Any) -> Any:
        nonlocal traces
        traces += 1
        return optimizer.apply_gradient(grads)

    source, grads = trained(entry), gradients(3, entry.parameters())
    restored = WAYS["bytes"](create(entry, optim), source)
    assert_same_bits(step(restored, grads), step(source, grads))
    assert traces == 1


@pytest.mark.parametrize(
    "entry", [case("Adam-all"), case("MultiOptimizer-two")], ids=lambda entry: entry.name
)
def test_half_precision_leaves_survive(entry: Case) -> None:
    fresh = create(entry, optim, "bfloat16")
    source = train(fresh, entry, range(3))
    assert jnp.dtype("bfloat16") in {leaf.dtype for leaf in jax.tree.leaves(source.state)}
    assert_same_bits(WAYS["bytes"](fresh, source), source)


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


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "TrainState"])
@pytest.mark.filterwarnings("ignore:Flax Checkpointing will soon be deprecated")
@every_layout
def test_checkpoint_files_read_without_a_target_are_state_dicts(
    tmp_path: Path, entry: Case, wrapped: bool
) -> None:
    source = TrainState(trained(entry), jnp.asarray(7)) if wrapped else trained(entry)
    with checkpointing_with_orbax(False):
        checkpoints.save_checkpoint(tmp_path, source, step=3)
        raw = checkpoints.restore_checkpoint(tmp_path, target=None)
    assert_same_bits(raw, serialization.to_state_dict(source))
    assert sorted(raw["optimizer"] if wrapped else raw) == ["state", "target"]


def names_and_leaves(tree: Any) -> list[tuple[str, Any]]:
    """The leaves with the names that uncertainty-baselines finds for them."""

    def traverse(node: Any) -> Iterator[tuple[str, Any]]:
        if dataclasses.is_dataclass(node):
            node = serialization.to_state_dict(node)
        if isinstance(node, dict):
            for key in sorted(node):
                for path, leaf in traverse(node[key]):
                    yield f"{key}/{path}".rstrip("/"), leaf
        else:
            yield "", node

    leaves, treedef = jax.tree.flatten(tree)
    named = traverse(jax.tree.unflatten(treedef, range(len(leaves))))
    # Parameters that no optimizer moves, and moments not in use, are None there.
    return [(name, leaves[token]) for name, token in named if token is not None]


@every_layout
def test_leaves_pair_with_the_sorted_names_of_the_state_dict(genuine: Any, entry: Case) -> None:
    mine, theirs = (names_and_leaves(create(entry, each)) for each in (optim, genuine))
    assert [name for name, _ in mine] == [name for name, _ in theirs]
    assert_same_bits([leaf for _, leaf in mine], [leaf for _, leaf in theirs])
    assert len(mine) == len(jax.tree.leaves(create(entry, optim)))
