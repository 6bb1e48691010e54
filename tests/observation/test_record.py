"""The recorder notes what a program makes, and leaves the program as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import jax_utils, nnx
from flax.training.train_state import TrainState

from flaxoptim_compat import optim
from flaxoptim_compat.observation import record, records
from tests.support.observed import HAS_NNX, recording

PARAMS = {"w": jnp.arange(6.0).reshape(2, 3), "b": jnp.ones(3)}


def step(optimizer: Any) -> Any:
    return optimizer.apply_gradient(optimizer.target)


def states(folder: Path) -> list[records.ObservedState]:
    record = records.read(folder)
    assert not record.trouble
    return [state for some in record.states.values() for state in some]


def test_each_state_is_noted_once(tmp_path: Path) -> None:
    with recording(tmp_path):
        optimizer = optim.Adam(0.1).create(PARAMS)
        for _ in range(3):
            # Another test may have traced `step` before.
            optimizer = jax.jit(lambda before: step(before))(optimizer)
            jax.device_get(optimizer)
            optimizer = optimizer.replace(target=jax.tree.map(jnp.copy, optimizer.target))
    found = states(tmp_path)
    assert [state.step for state in found] == [(0,), (1,), (2,), (3,)]
    assert [state.is_created for state in found] == [True, False, False, False]
    assert {state.what for state in found} == {"Adam"}
    assert found[0].optimizer.paths == ("b", "w")
    assert found[0].place.function == "test_each_state_is_noted_once"
    assert len(found[1].moments[0]) == 4
    places = next(iter(records.read(tmp_path).places.values()))
    assert "step" in {place.function for place in places}


def test_donated_arrays_are_still_donated(tmp_path: Path) -> None:
    donating = jax.jit(step, donate_argnums=0)
    with recording(tmp_path):
        optimizer = donating(optim.Momentum(0.1).create(jax.tree.map(jnp.copy, PARAMS)))
        address = optimizer.target["w"].unsafe_buffer_pointer()
        after = donating(optimizer)
    assert optimizer.target["w"].is_deleted()
    assert after.target["w"].unsafe_buffer_pointer() == address
    assert [state.step for state in states(tmp_path)] == [(0,), (1,), (2,)]


def test_what_is_compiled_stays_the_same(tmp_path: Path) -> None:
    optimizer = optim.Adam(0.1).create(PARAMS)
    text = jax.jit(step).lower(optimizer).as_text()
    with recording(tmp_path):
        assert jax.jit(step).lower(optimizer).as_text() == text
    assert not states(tmp_path)


def test_classes_are_as_they_were(tmp_path: Path) -> None:
    classes = (optim.Optimizer, TrainState)
    before = [(cls.__init__, vars(cls).get("__init_subclass__")) for cls in classes]
    with recording(tmp_path):
        assert optim.Optimizer.__init__ is not before[0][0]

        class Own(TrainState):  # type: ignore[misc, unused-ignore]
            more: int = 0

        Own(0, None, PARAMS, None, ())  # type: ignore[arg-type]
    assert [(cls.__init__, vars(cls).get("__init_subclass__")) for cls in classes] == before
    Own(1, None, PARAMS, None, ())  # type: ignore[arg-type]
    assert [state.step for state in states(tmp_path)] == [(0,)]


def test_copies_on_several_devices(tmp_path: Path) -> None:
    count = jax.local_device_count()
    with recording(tmp_path):
        jax_utils.replicate(optim.Adam(0.1).create(PARAMS))
    one, copies = states(tmp_path)
    assert (one.step, copies.step) == ((0,), (0,) * count)
    assert copies.optimizer.shapes == ((count, 3), (count, 2, 3))
    np.testing.assert_array_equal(copies.leaves[0].numbers, np.ones(3 * count))


def test_copies_that_are_one_array(tmp_path: Path) -> None:
    mesh = jax.sharding.Mesh(jax.devices()[:2], "x")
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    with recording(tmp_path):
        optimizer = optim.Momentum(0.1).create({"w": jnp.ones(3)})
        optimizer = jax.device_put(optimizer, everywhere)
        optimizer.apply_gradient({"w": jnp.ones(3)})
    record = records.read(tmp_path)
    assert not record.trouble
    assert [state.step for states in record.states.values() for state in states] == [(0,), (1,)]


def test_what_has_no_numbers_is_left_alone(tmp_path: Path) -> None:
    optimizer = optim.Adam(0.1).create(PARAMS)
    with recording(tmp_path):
        jax.eval_shape(step, optimizer)
        jax.tree.map(lambda _: None, optimizer)
        optimizer.replace(target={"w": jax.random.key(0), "b": object()})
    assert not states(tmp_path)


def test_numbers_of_leaves_in_place_of_them_are_no_state(tmp_path: Path) -> None:
    with recording(tmp_path):
        optimizer = step(optim.Adam(0.1).create(PARAMS))
        state = TrainState.create(apply_fn=None, params=PARAMS, tx=optax.adam(0.1))
        for each in (optimizer, state):
            leaves, treedef = jax.tree.flatten(each)
            treedef.unflatten(range(len(leaves)))
            jax.tree.map(lambda _: 0.5, each)
            jax.tree.map(lambda _: True, each)
    assert [state.step for state in states(tmp_path)] == [(0,), (1,), (0,)]


def test_parameters_may_be_numbers_of_python(tmp_path: Path) -> None:
    with recording(tmp_path):
        optimizer = step(optim.GradientDescent(0.1).create({"w": 1.0, "b": 2.0}))
    assert optimizer.target == {"w": 0.9, "b": 1.8}
    found = states(tmp_path)
    assert [(state.step, state.is_created) for state in found] == [((0,), True), ((1,), False)]


def test_a_folder_that_is_gone_stops_no_program(tmp_path: Path) -> None:
    with recording(tmp_path / "gone"):
        optimizer = step(optim.Adam(0.1).create(PARAMS))
    assert int(optimizer.state.step) == 1


def test_a_child_process_has_a_file_of_its_own(tmp_path: Path) -> None:
    with recording(tmp_path):
        optimizer = optim.Adam(0.1).create(PARAMS)
        assert record._recorder is not None
        record._recorder.after_fork()
        step(optimizer)
    assert len(list(tmp_path.iterdir())) == 2
    assert [state.step for state in states(tmp_path)] == [(0,), (1,)]


def test_of_large_parameters_the_same_steps_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_BYTES_PER_STEP", 9)
    with recording(tmp_path):
        optimizer = optim.GradientDescent(0.1).create(PARAMS)
        for _ in range(12):
            optimizer = step(optimizer)
    looked_at = [state.step[0] for state in states(tmp_path) if state.bits is not None]
    assert looked_at == [*range(8), 8, 12]
    assert [state.step[0] for state in states(tmp_path)] == list(range(13))


@pytest.mark.parametrize("size", [1, 1 << 24, 100 << 20])
def test_what_is_kept_grows_with_the_logarithm_of_steps(size: int) -> None:
    chosen = [record._chosen(done, size) for done in range(100_000)]
    assert all(is_kept for _, is_kept in chosen[:8])
    assert sum(is_looked_at for is_looked_at, _ in chosen) >= 100_000 // max(1, size >> 24) // 2
    assert 32 <= sum(is_kept for _, is_kept in chosen) < 300


def test_a_definition_does_steps_by_itself(tmp_path: Path) -> None:
    definition = optim.MultiOptimizer(
        (optim.ModelParamTraversal(lambda path, _: True), optim.Adam(0.1))
    )
    params, state = PARAMS, definition.init_state(PARAMS)
    with recording(tmp_path):
        for _ in range(2):
            hyper_params = definition.hyper_params
            params, state = definition.apply_gradient(hyper_params, params, state, params)
        jax.jit(definition.apply_gradient, static_argnums=())(hyper_params, params, state, params)
        step(optim.Adam(0.1).create(PARAMS))
        sgd = optim.GradientDescent(0.1)
        jax.jit(lambda p: sgd.apply_gradient(sgd.hyper_params, p, sgd.init_state(p), p))(PARAMS)
    (traced,) = records.read(tmp_path).traced.values()
    assert {line.function for line in traced} == {"<lambda>"}
    found = states(tmp_path)
    assert [(state.what, *state.step) for state in found] == [
        *(("MultiOptimizer", 0), ("MultiOptimizer", 1), ("MultiOptimizer", 2)),
        *(("Adam", 0), ("Adam", 1)),
    ]


@pytest.mark.parametrize("is_jitted", [False, True])
@pytest.mark.parametrize("name", ["Optimizer", "ModelAndOptimizer"])
def test_an_optimizer_of_nnx(name: str, is_jitted: bool, tmp_path: Path) -> None:
    if not HAS_NNX:
        pytest.skip("this flax has nnx elsewhere")
    cls = getattr(nnx, name)

    def update(model: Any, optimizer: Any) -> None:
        grads = nnx.grad(lambda model: (model(jnp.ones((1, 2))) ** 2).sum())(model)
        optimizer.update(*((model, grads) if cls is nnx.Optimizer else (grads,)))

    with recording(tmp_path):
        model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
        optimizer = cls(model, optax.adam(0.1), wrt=nnx.Param)
        for _ in range(2):
            (nnx.jit(update) if is_jitted else update)(model, optimizer)
    found = states(tmp_path)
    assert [(state.step, state.is_created) for state in found] == [
        *(((0,), True), ((1,), False), ((2,), False))
    ]
    assert found[0].optimizer.paths == ("bias", "kernel")
    assert {moment.path for moment in found[1].moments[0]} >= {"0/mu/kernel", "0/nu/bias"}
