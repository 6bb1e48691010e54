"""``checkpoint convert``: the file of an optimizer becomes that of its TrainState, and back."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import serialization, struct
from flax.core import freeze
from flax.training import train_state as flax_train_state

from flaxoptim_compat import optim
from flaxoptim_compat.checkpoint_contents.summary import summary
from flaxoptim_compat.checkpoint_conversion.convert import ConversionSettings, convert
from flaxoptim_compat.checkpoint_files import CheckpointError, StoredArray, array_in_memory
from flaxoptim_compat.checkpoint_files.opening import Checkpoint
from tests.attack.damage import MISSING, changed, paths_in
from tests.data import goldens
from tests.support.cases import Case, case
from tests.support.checkpoint_conversions import converted, with_moments, with_rate, written
from tests.support.compiled_steps import gradients, legacy_step, optax_step
from tests.support.optimizer_checkpoints import LAYOUTS
from tests.support.options import each
from tests.support.side_by_side import assert_same
from tests.support.training import create

# Those whose fields alone tell what their TrainState looks like, and those that need a name.
TOLD = ("GradientDescent", "RMSProp", "Adagrad")
NAMED = ("Adam", "AdaBelief", "LAMB", "Adafactor", "Momentum", "LARS", "Adadelta")
SEVERAL = ("MultiOptimizer-two", "MultiOptimizer-three")  # these need their definition
WRITTEN = [each for each in goldens.checkpoints() if not each[1].startswith("Replicated")]

SOME_CASES = [each for each in LAYOUTS if each.name in SEVERAL or "over_A" in each.name]

every_layout = pytest.mark.parametrize("entry", LAYOUTS, ids=lambda entry: entry.name)
every_checkpoint_of_flax = pytest.mark.parametrize(("release", "name"), WRITTEN)


def after_two_steps(entry: Case) -> Any:
    return with_moments(create(entry, optim))


@every_layout
def test_there_and_back_it_is_the_same_file(entry: Case, tmp_path: Path) -> None:
    optimizer = after_two_steps(entry)
    source = written(tmp_path / "legacy", optimizer)
    before = source.read_bytes(), source.stat().st_mtime_ns
    definition = entry.build(optim)
    state = converted(source, "train-state", definitions=definition)
    assert state == serialization.to_bytes(optimizer.to_train_state())
    assert (source.read_bytes(), source.stat().st_mtime_ns) == before
    (tmp_path / "state").write_bytes(state)
    again = converted(tmp_path / "state", "legacy", definitions=definition)
    assert again == source.read_bytes()


@pytest.mark.parametrize(
    "entry", [each for each in LAYOUTS if each.name not in SEVERAL], ids=lambda entry: entry.name
)
def test_without_a_definition_only_the_learning_rate_is_missing(
    entry: Case, tmp_path: Path
) -> None:
    optimizer = after_two_steps(entry)
    source = written(tmp_path / "legacy", optimizer)
    inner = entry.inner[0] if entry.inner else entry
    assert inner.optimizer in TOLD + NAMED
    name = inner.optimizer if inner.optimizer in NAMED else None
    content = converted(source, "train-state", name=name)
    rate = inner.kwargs["learning_rate"]
    assert with_rate(content, rate) == serialization.to_bytes(optimizer.to_train_state())
    (tmp_path / "state").write_bytes(content)
    assert converted(tmp_path / "state", "legacy") == source.read_bytes()


def test_a_learning_rate_that_nobody_set_shows_in_the_first_step(tmp_path: Path) -> None:
    optimizer = after_two_steps(case("Momentum-default"))
    source = written(tmp_path / "legacy", optimizer)
    content = converted(source, "train-state", name="Momentum")
    state = serialization.from_bytes(optimizer.to_train_state(), content)
    forgotten = optax_step(state, gradients(state.params, 2))
    assert all(jnp.isnan(leaf).all() for leaf in jax.tree.leaves(forgotten.params))
    state.opt_state.hyperparams["learning_rate"] = jnp.asarray(0.05, jnp.float32)
    state = optax_step(state, gradients(state.params, 2))
    assert_same(state.params, legacy_step(optimizer, gradients(state.params, 2)).target)


@every_checkpoint_of_flax
def test_checkpoints_that_flax_wrote(release: str, name: str, tmp_path: Path) -> None:
    entry = case(name)
    source = tmp_path / "legacy"
    source.write_bytes(goldens.checkpoint(release, name, 10))
    content = converted(source, "train-state", definitions=entry.build(optim))
    restored = serialization.from_bytes(create(entry, optim), source.read_bytes())
    assert content == serialization.to_bytes(restored.to_train_state())
    (tmp_path / "state").write_bytes(content)
    again = converted(tmp_path / "state", "legacy", definitions=entry.build(optim))
    # Older layouts come back in the one of Flax 0.5.3.
    assert again == serialization.to_bytes(restored)
    assert release != "flax-0.5.3" or again == source.read_bytes()


@pytest.mark.parametrize("name", ["Adam-default", "Adafactor-bf16_momentum", *SEVERAL])
def test_the_genuine_flax_restores_what_comes_back(name: str, genuine: Any, tmp_path: Path) -> None:
    entry = case(name)
    optimizer = after_two_steps(entry)
    source = written(tmp_path / "state", optimizer.to_train_state())
    content = converted(source, "legacy", definitions=entry.build(optim))
    theirs = serialization.from_bytes(create(entry, genuine), content)
    assert_same(serialization.to_state_dict(theirs), serialization.to_state_dict(optimizer))


@struct.dataclass
class Program:
    """What a program of the time kept in its checkpoints."""

    step: Any
    optimizer: Any
    batch_stats: Any


def test_optimizers_anywhere_become_train_states_and_all_else_stays(tmp_path: Path) -> None:
    generator, critic = (after_two_steps(case(f"{name}-default")) for name in ("Adam", "RMSProp"))
    stats = freeze({"mean": jnp.arange(3.0), "var": jnp.arange(3, dtype=jnp.bfloat16)})
    tree = {
        "generator": Program(jnp.asarray(2), generator, stats),
        "critics": [critic, critic],
        "note": "a text",
        "epoch": 3,
        "none": None,
        "complex": np.complex64(1j),
        "scalar": np.float64(0.1),
    }
    source = written(tmp_path / "legacy", tree)
    definitions = {
        "generator/optimizer": case("Adam-default").build(optim),
        "critics/1": case("RMSProp-default").build(optim),
    }
    content = converted(source, "train-state", definitions=definitions)
    state = critic.to_train_state()
    state.opt_state.hyperparams["learning_rate"] = np.asarray(np.nan, np.float32)
    expected = {
        **tree,
        "generator": tree["generator"].replace(optimizer=generator.to_train_state()),
        "critics": [state, critic.to_train_state()],
    }
    assert content == serialization.to_bytes(expected)
    (tmp_path / "state").write_bytes(content)
    assert converted(tmp_path / "state", "legacy") == source.read_bytes()


def test_a_list_in_a_file_stays_a_list(tmp_path: Path) -> None:
    optimizer = serialization.to_state_dict(optim.Momentum(0.1).create({"w": jnp.ones(2)}))
    source = tmp_path / "legacy"
    source.write_bytes(serialization.msgpack_serialize({"all": [optimizer, 3]}))
    content = serialization.msgpack_restore(converted(source, "train-state", name="Momentum"))
    assert isinstance(content["all"], list) and content["all"][1] == 3
    assert sorted(content["all"][0]) == ["opt_state", "params", "step"]


class WithStats(flax_train_state.TrainState):
    """A TrainState as programs extend it."""

    batch_stats: Any


def test_what_stands_in_a_train_state_beside_the_optimizer_stays(tmp_path: Path) -> None:
    optimizer = after_two_steps(case("Adam-default"))
    state = optimizer.to_train_state()
    fields = {name: getattr(state, name) for name in ("step", "params", "opt_state")}
    stats = {"mean": jnp.arange(3.0)}
    with_stats = WithStats(apply_fn=None, tx=state.tx, batch_stats=stats, **fields)
    source = written(tmp_path / "state", with_stats)
    content = serialization.msgpack_restore(converted(source, "legacy"))
    assert_same(content.pop("batch_stats"), stats)
    assert_same(optimizer.restore_state(content), optimizer)


def unreadable(tree: Any) -> Any:
    """The same tree, with arrays that must not be read unless they are scalars."""

    def leaf(array: Any) -> Any:
        def refuse() -> Any:
            raise AssertionError("an array was read, but it only moves")

        read = refuse if array.ndim else lambda: np.asarray(array)
        return StoredArray(array.shape, array.dtype, read)

    return jax.tree.map(leaf, tree)


@pytest.mark.parametrize("entry", SOME_CASES, ids=lambda entry: entry.name)
def test_arrays_are_moved_and_not_read(entry: Case) -> None:
    optimizer = create(entry, optim)
    definition = entry.build(optim)
    tree = unreadable(serialization.to_state_dict(optimizer))
    state, _ = convert(tree, ConversionSettings("train-state", definitions=definition))
    convert(state, ConversionSettings("legacy", definitions=definition))


def test_dict_and_frozen_dict_are_the_same_file(tmp_path: Path) -> None:
    params = {"w": jnp.ones((2, 3)), "b": jnp.zeros(3)}
    files = []
    for target in (params, freeze(params)):
        optimizer = optim.Momentum(0.1).create(target)
        source = written(tmp_path / type(target).__name__, optimizer)
        files.append(converted(source, "train-state", name="Momentum"))
    assert files[0] == files[1]


@pytest.mark.parametrize(
    "target",
    [jnp.ones((2, 3)), [jnp.ones(2)] * 12, (jnp.ones(2), {"a": jnp.ones(3)}), {}],
    ids=["array", "list", "tuple", "empty"],
)
def test_targets_that_are_no_dict(target: Any, tmp_path: Path) -> None:
    optimizer = optim.RMSProp(0.1, centered=True).create(target)
    source = written(tmp_path / "legacy", optimizer)
    content = converted(source, "train-state", definitions=optimizer.optimizer_def)
    assert content == serialization.to_bytes(optimizer.to_train_state())
    (tmp_path / "state").write_bytes(content)
    again = converted(tmp_path / "state", "legacy", definitions=optimizer.optimizer_def)
    assert again == source.read_bytes()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(dtype: str, tmp_path: Path) -> None:
    optimizer = create(case("Adam-default"), optim, dtype)
    content = converted(written(tmp_path / "legacy", optimizer), "train-state", name="Adam")
    assert with_rate(content, 0.05) == serialization.to_bytes(optimizer.to_train_state())


def test_parameters_of_64_bits(x64: None, tmp_path: Path) -> None:
    double = optim.ModelParamTraversal(lambda _, value: value.dtype == jnp.float64)
    params = {"double": jnp.ones((2, 3)), "single": jnp.ones(3, jnp.float32)}
    optimizer = with_moments(optim.Adam(0.1).create(params, focus=double))
    source = written(tmp_path / "legacy", optimizer)
    # The command does not know that the program had switched it on.
    jax.config.update("jax_enable_x64", False)
    content = converted(source, "train-state", definitions=optimizer.optimizer_def)
    (tmp_path / "state").write_bytes(content)
    assert converted(tmp_path / "state", "legacy") == source.read_bytes()
    assert not jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    assert content == serialization.to_bytes(optimizer.to_train_state())


NAMES = [
    "Adam-default",
    "Adafactor-default",
    "GradientDescent-default",
    "MultiOptimizer-single",
    "MultiOptimizer-two",
    "RMSProp-centered",
    "WeightNorm-over_Adam",
]
ODD: list[Any] = [
    MISSING,
    None,
    {},
    {"a": 1},
    {"0": {}},
    {"inner_state": {}},
    True,
    5,
    2**64 - 1,
    2.5,
    1j,
    "text",
    b"bytes",
    array_in_memory(np.zeros((3, 2), np.float32)),
    array_in_memory(np.zeros((), np.int32)),
    array_in_memory(np.zeros((0,), np.int8)),
]


@pytest.mark.parametrize("name", each(NAMES, ["Adafactor-default", "WeightNorm-over_Adam"]))
def test_no_entry_that_is_not_what_it_should_be_is_more_than_an_error(name: str) -> None:
    entry = case(name)
    optimizer = create(entry, optim)
    stored = [
        jax.tree.map(array_in_memory, serialization.to_state_dict(each))
        for each in (optimizer, optimizer.to_train_state())
    ]
    choose = random.Random(name)
    errors = 0
    for _ in range(100):
        form = choose.randrange(2)
        tree = stored[form]
        tree = changed(tree, choose.choice([*paths_in(tree)]), choose.choice(ODD))
        # A step that is none is refused by that, too.
        with contextlib.suppress(CheckpointError):
            summary(Checkpoint(Path("damaged"), "msgpack", tree))
        for definition in (None, entry.build(optim), *([] if form else [optax.adam(0.1)])):
            try:
                convert(tree, ConversionSettings(("train-state", "legacy")[form], None, definition))
            except CheckpointError:
                errors += 1
    assert errors > 100
