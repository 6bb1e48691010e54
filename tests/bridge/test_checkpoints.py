"""Checkpoints: what they hold, that nothing of it is lost, and what it costs, by counting."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import flax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization
from flax.core import FrozenDict
from flax.training import checkpoints

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import checkpoints as restoring
from flaxoptim_compat.checkpoint_conversion.between_files import convert_checkpoint
from flaxoptim_compat.checkpoint_conversion.convert import ConversionSettings
from flaxoptim_compat.checkpoint_files.source import Source
from tests.support.cases import CASES, Case, case, gradients
from tests.support.optimizer_checkpoints import LAYOUTS, TrainState, checkpointing_with_orbax
from tests.support.options import ONE_EACH, each, each_case
from tests.support.python_calls import calls_in_package
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
    def after_a_step(namespace: Any) -> Any:
        return serialization.to_state_dict(train(create(entry, namespace), entry, range(1)))

    mine = after_a_step(optim)
    kinds, theirs = (
        {row[1] for row in described(mine)},
        jax.eval_shape(lambda: after_a_step(genuine)),
    )
    assert kinds <= {type(jnp.zeros(())), type(None)}
    assert [(path, *rest) for path, _, *rest in described(mine)] == [
        (path, *rest) for path, _, *rest in described(theirs)
    ]


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
    traces = []

    @jax.jit
    def step(optimizer: Any, grads: Any) -> Any:
        traces.append(None)
        return optimizer.apply_gradient(grads)

    source, grads = trained(entry), gradients(3, entry.parameters())
    restored = WAYS["bytes"](create(entry, optim), source)
    assert_same_bits(step(restored, grads), step(source, grads))
    assert len(traces) == 1


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


SIZES = (5, 10, 15)
# Of the walk, for Adam: down to the parameter, its state and the three arrays of the two.
CALLS_PER_LEAF = 20


def layers(number: int) -> dict[str, Any]:
    """Parameters, one in each layer."""
    return {f"layer{index:02d}": {"kernel": np.ones(2, np.float32)} for index in range(number)}


@pytest.fixture
def thorough(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was compared, entry by entry, the way that takes several walks."""
    paths: list[str] = []
    genuine = restoring.restore

    def restore(like: Any, state_dict: Any, where: str) -> Any:
        paths.append(where)
        return genuine(like, state_dict, where)

    monkeypatch.setattr(restoring, "restore", restore)
    return paths


def through_bytes(source: Any) -> Any:
    return serialization.from_bytes(source, serialization.to_bytes(source))


def test_restoring_is_linear_in_the_leaves() -> None:
    counts = []
    for size in SIZES:
        optimizer = optim.Adam(0.1).create(layers(size))
        content = serialization.to_state_dict(optimizer)
        restore = functools.partial(serialization.from_state_dict, optimizer, content)
        counts.append(calls_in_package(restore))
    steps = np.diff(counts)
    assert steps[0] == steps[1]
    assert steps[0] <= CALLS_PER_LEAF * (SIZES[1] - SIZES[0])


@pytest.mark.parametrize("entry", CASES, ids=lambda entry: entry.name)
def test_a_checkpoint_of_today_is_walked_once(entry: Case, thorough: list[str]) -> None:
    fresh = create(entry, optim)
    # Other values than those of the optimizer that is restored.
    source = jax.tree.map(lambda leaf: np.asarray(leaf) + np.ones((), leaf.dtype), fresh)
    restored = serialization.from_bytes(fresh, serialization.to_bytes(source))
    assert_same_bits(restored, source)
    assert not thorough


class Layer(NamedTuple):
    """A target of a kind that flax restores by the names of its fields."""

    kernel: Any
    bias: Any


@flax.struct.dataclass
class Dense:
    """The same, with a field that is no part of a checkpoint."""

    kernel: Any
    name: str = flax.struct.field(pytree_node=False, default="dense")


ARRAY = np.arange(3, dtype=np.float32)
TARGETS: dict[str, Any] = {
    "frozen": FrozenDict({"a": {"b": ARRAY}}),
    "list": [ARRAY, {"a": ARRAY}],
    "tuple": (ARRAY, (ARRAY,)),
    "namedtuple": {"a": Layer(ARRAY, (ARRAY, None))},
    "dataclass": Dense({"a": ARRAY}, "other"),
    "array": ARRAY,
    "nothing": {"a": {}, "b": ARRAY, "c": None},
}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_any_target_is_walked_once(target: Any, thorough: list[str]) -> None:
    source = optim.Momentum(0.1).create(target)
    restored = through_bytes(source)
    assert jax.tree.structure(restored) == jax.tree.structure(source)
    assert_same_bits(restored, source)
    assert not thorough


@pytest.mark.parametrize(
    "part", [{"step": 3}, {"param_states": {"a": {"momentum": np.zeros(3)}, "more": None}}]
)
def test_whatever_differs_is_looked_at_thoroughly(
    part: dict[str, Any], thorough: list[str]
) -> None:
    fresh = optim.Momentum(0.1).create({"a": ARRAY})
    content = serialization.to_state_dict(fresh)
    content["state"] |= part
    if "step" in part:
        assert fresh.restore_state(content).state.step.dtype == np.int32
    else:
        with pytest.warns(match="at state/param_states/more expected nothing"):
            fresh.restore_state(content)
    assert thorough == ["target", "state"]


@flax.struct.dataclass
class Dated:
    """Registered anew, with functions of its own: restoring does more than to set the fields."""

    kernel: Any
    origin: str = flax.struct.field(pytree_node=False, default="fresh")


serialization.register_serialization_state(
    Dated,
    lambda dated: {"kernel": serialization.to_state_dict(dated.kernel)},
    lambda dated, state: Dated(
        serialization.from_state_dict(dated.kernel, state["kernel"]), "a checkpoint"
    ),
    override=True,
)


def test_a_type_with_functions_of_its_own_is_restored_by_them(thorough: list[str]) -> None:
    restored = through_bytes(optim.Momentum(0.1).create({"a": Dated(ARRAY)}))
    assert restored.target["a"].origin == "a checkpoint"
    assert thorough == ["target", "state"]


class Counted(io.BytesIO):
    """A file in memory that counts how often each of its bytes is read."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.reads = np.zeros(len(content), int)

    def read(self, size: int | None = -1) -> bytes:
        begin = self.tell()
        taken = super().read(size)
        self.reads[begin : begin + len(taken)] += 1
        return taken

    def readinto(self, buffer: Any) -> int:
        begin = self.tell()
        count = super().readinto(buffer)
        self.reads[begin : begin + count] += 1
        return count


@pytest.mark.parametrize("format_", ["msgpack", "orbax"])
def test_converting_reads_every_byte_for_each_place_it_goes_to(
    format_: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "legacy"
    params = {name: np.ones(10**5, np.float32) for name in "abc"}
    source.write_bytes(serialization.to_bytes(optim.Adam(0.1).create(params)))
    counted = Counted(source.read_bytes())
    opened = Source.__init__

    def opened_and_counted(self: Source, path: Path) -> None:
        opened(self, path)
        self.file.close()
        self.file = counted  # type: ignore[assignment]

    monkeypatch.setattr(Source, "__init__", opened_and_counted)
    convert_checkpoint(
        source, tmp_path / "new", ConversionSettings("train-state", name="Adam"), format_=format_
    )
    # What stands between arrays is read with some bytes that follow it, which are those of an array
    # or what another look goes on with. A TrainState has the step at four places.
    assert counted.reads.min() == 1 and counted.reads.max() <= 2 + 4
    assert counted.reads.mean() < 1.03


def test_converting_traces_each_shape_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "legacy"
    params = layers(SIZES[0]) | {"more": {"kernel": np.ones((2, 3), np.float32)}}
    source.write_bytes(serialization.to_bytes(optim.Adam(0.1).create(params)))
    shapes: list[tuple[int, ...]] = []
    init = optim.Adam.init_param_state

    def noted(self: Any, param: Any) -> Any:
        shapes.append(param.shape)
        return init(self, param)

    monkeypatch.setattr(optim.Adam, "init_param_state", noted)
    convert_checkpoint(source, tmp_path / "new", ConversionSettings("train-state", name="Adam"))
    assert sorted(shapes) == [(2,), (2, 3)]
