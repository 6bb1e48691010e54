"""Steps of sharded optimizers on eight devices, and orbax from mesh to mesh."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
import pytest
from flax.serialization import to_state_dict
from jax.sharding import NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import sharding
from tests.support import sharded_launch, sharded_processes
from tests.support.places import ROOT
from tests.support.sharded_cases import (
    DEFINITIONS,
    LAYOUTS,
    SHAPES,
    SPREAD,
    TWO_AXES,
    ULPS,
    ULPS_OF_TRAIN_STATE,
    apply,
    assert_moves_only_sums,
    assert_placed,
    collectives,
    gradients,
    mesh,
    parameters,
    restored,
)
from tests.support.side_by_side import assert_same

STEPS = 3


class Step:
    """A jitted step of an Optimizer or a TrainState, and how often it was traced."""

    def __init__(self, **options: Any) -> None:
        self.traces = 0
        self.run = jax.jit(self._step, **options)

    def _step(self, tree: Any, grads: Any) -> Any:
        self.traces += 1
        return apply(tree, grads)


@functools.cache
def on_one_device(name: str) -> Any:
    optimizer, step = DEFINITIONS[name]().create(parameters()), Step()
    for number in range(STEPS):
        optimizer = step.run(optimizer, gradients(number))
    return optimizer


def sharded(name: str, layout: str, kind: str = "Optimizer") -> tuple[Any, Any, Any]:
    """An optimizer on its mesh; where its arrays are; where those of the gradients are."""
    where, of_params, of_moments = LAYOUTS[layout]()
    definition = DEFINITIONS[name]()
    tree = definition.create(parameters())
    if kind == "TrainState":
        tree = tree.to_train_state()
    places = sharding.shardings(where, tree, of_params, of_moments, definition)
    of_grads = places.target if isinstance(tree, optim.Optimizer) else places.params
    return jax.device_put(tree, places), places, of_grads


def train(step: Step, tree: Any, places: Any, of_grads: Any) -> Any:
    for number in range(STEPS):
        tree = step.run(tree, jax.device_put(gradients(number), of_grads))
        jax.block_until_ready(tree)
        assert_placed(tree, places)
    assert (step.traces, step.run._cache_size()) == (1, 1)  # type: ignore[attr-defined]
    return tree


def partitions_otherwise() -> bool:
    """Whether this jax is one that gathers the sums of Adafactor's rows too."""
    return jax.__version_info__ < (0, 7)


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        *((name, "two axes") for name in DEFINITIONS),
        *((name, "fsdp") for name in ("Adam", "Sketch", "Adafactor")),
    ],
)
def test_an_optimizer_stays_where_it_is_and_gathers_nothing(name: str, layout: str) -> None:
    step = Step()  # XLA finds out itself where the results should be
    tree, places, of_grads = sharded(name, layout)
    grads = jax.device_put(gradients(0), of_grads)
    if name == "Adafactor" and partitions_otherwise():
        pytest.skip("this XLA puts its sums elsewhere where nobody says where they should be")
    assert_moves_only_sums(name, step.run.lower(tree, grads).compile().as_text())
    assert_same(train(step, tree, places, of_grads), on_one_device(name), ulps=ULPS[name])


@pytest.mark.parametrize("name", ["Adam", "Sketch", "Adafactor", "MultiOptimizer", "WeightNorm"])
def test_so_does_the_train_state_it_turns_into(name: str) -> None:
    tree, places, of_grads = sharded(name, "two axes", "TrainState")
    step = Step(donate_argnums=0, in_shardings=(places, of_grads), out_shardings=places)
    grads = jax.device_put(gradients(0), of_grads)
    assert_moves_only_sums(name, step.run.lower(tree, grads).compile().as_text())
    state = train(step, tree, places, of_grads)
    again = optim.Optimizer.from_train_state(state, DEFINITIONS[name]())
    assert_same(again, on_one_device(name), ulps=ULPS_OF_TRAIN_STATE[name])


@pytest.mark.parametrize("name", ["Adam", "focus", "Adafactor", "WeightNorm"])
def test_only_new_parameters_are_gathered_where_moments_alone_are_sharded(name: str) -> None:
    tree, places, of_grads = sharded(name, "moments")
    step = Step(donate_argnums=0, out_shardings=places)
    grads = jax.device_put(gradients(0), of_grads)
    moved = collectives(step.run.lower(tree, grads).compile().as_text())
    new = ["kernel"] if name == "focus" else [each for each, spec in SPREAD.items() if spec != P()]
    found = [shape for how, shape in moved if how == "all-gather"]
    if not (name == "Adafactor" and partitions_otherwise()):
        assert sorted(found) == sorted(SHAPES[each] for each in new)
    assert {how for how, _ in moved} <= {"all-gather", "all-reduce"}
    assert_same(train(step, tree, places, of_grads), on_one_device(name), ulps=ULPS[name])


@pytest.mark.parametrize("name", ["Adam", "Adafactor", "WeightNorm", "focus"])
def test_it_stays_where_it_is_outside_jit_as_well(name: str) -> None:
    tree, places, of_grads = sharded(name, "two axes")
    on_one = DEFINITIONS[name]().create(parameters())
    for number in range(STEPS):
        tree = tree.apply_gradient(jax.device_put(gradients(number), of_grads))
        jax.block_until_ready(tree)
        assert_placed(tree, places)
        on_one = on_one.apply_gradient(gradients(number))
    assert_same(tree, on_one, ulps=ULPS[name])


@pytest.mark.parametrize(
    ("name", "kind"),
    [("MultiOptimizer", "Optimizer"), ("WeightNorm", "Optimizer"), ("Adafactor", "TrainState")],
)
def test_an_optimizer_can_be_created_in_its_place(name: str, kind: str) -> None:
    def create() -> Any:
        optimizer = DEFINITIONS[name]().create(parameters())
        return optimizer if kind == "Optimizer" else optimizer.to_train_state()

    places = sharding.shardings(mesh(4, 2), jax.eval_shape(create), TWO_AXES)
    created = jax.jit(create, out_shardings=places)()
    assert_placed(created, places)
    assert_same(created, create(), ulps=ULPS[name])


@pytest.mark.parametrize("name", ["Adam", "Adafactor"])
def test_the_axes_of_the_mesh_may_be_explicit(name: str) -> None:
    if not hasattr(jax.sharding, "AxisType"):
        pytest.skip("before jax 0.5 there are none")
    explicit = (jax.sharding.AxisType.Explicit,) * 2
    where = jax.make_mesh((4, 2), ("data", "model"), axis_types=explicit)
    tree = DEFINITIONS[name]().create(parameters())
    places = sharding.shardings(where, tree, TWO_AXES)
    step = Step(out_shardings=places)
    tree = train(step, jax.device_put(tree, places), places, places.target)
    assert_same(tree, on_one_device(name), ulps=ULPS[name])


def test_parameters_are_spread_over_eight_devices() -> None:
    assert sharding.fsdp_specs(parameters(), mesh(8), "data", min_size=8) == SPREAD


def test_the_text_of_a_program_shows_what_it_gathers() -> None:
    where = mesh(4, 2)
    array = jax.device_put(parameters()["kernel"], NamedSharding(where, P("data", "model")))
    together = jax.jit(lambda array: 2.0 * array, out_shardings=NamedSharding(where, P("data")))
    text = together.lower(array).compile().as_text()
    assert [(how, math.prod(shape)) for how, shape in collectives(text)] == [("all-gather", 32)]


jitted_step = jax.jit(apply)


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
    before = jax.block_until_ready(jitted_step(before, gradients(0)))
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
    after = jax.block_until_ready(jitted_step(again, gradients(1)))
    assert_placed(after, places)
    assert_same(after, jitted_step(before, gradients(1)), ulps=ULPS[name])


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


def after_as_many_steps(name: str) -> Any:
    optimizer = DEFINITIONS[name]().create(parameters())
    for number in range(sharded_processes.STEPS):
        optimizer = jitted_step(optimizer, gradients(number))
    return optimizer


@pytest.mark.exhaustive
def test_on_two_processes_and_from_there_on_one(tmp_path: Path) -> None:
    program = ROOT / "tests" / "support" / "sharded_processes.py"
    arguments = ["{address}", "2", "{number}", str(tmp_path)]
    sharded_launch.run_together(program, arguments, tmp_path)
    for name in sharded_processes.NAMES:
        expected = after_as_many_steps(name)
        for kind in ("Optimizer", "TrainState"):
            tree = created(name, kind)
            places = sharding.shardings(mesh(2, 2), tree, TWO_AXES)
            found = restored(tmp_path / f"{name}-{kind}", tree, places)
            assert_placed(found, places)
            if kind == "TrainState":
                found = optim.Optimizer.from_train_state(found, expected.optimizer_def)
            assert_same(found, expected, ulps=ULPS[name])
    adam = after_as_many_steps("Adam")
    for process in range(2):
        with np.load(tmp_path / f"copies-{process}.npz") as file:
            copies = jax.tree.unflatten(jax.tree.structure(adam), list(file.values()))
        # The mean over the devices is compiled into one loop with the update.
        assert_same(copies, adam, ulps=4.0)
