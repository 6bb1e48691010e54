"""``checkpoint convert`` to the optax transformation of a new program, and from any such state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import serialization
from flax.training.train_state import TrainState

from flaxoptim_compat import optim
from flaxoptim_compat.checkpoint_files import CheckpointError
from tests.support.checkpoint_conversions import converted, with_moments, written
from tests.support.side_by_side import assert_same

PARAMS = {"bias": jnp.zeros(3), "kernel": jnp.linspace(-1.0, 1.0, 6).reshape(2, 3)}
KERNELS = optim.ModelParamTraversal(lambda path, _: path.endswith("kernel"))
LABELS = {"bias": "frozen", "kernel": "trained"}
RATE = optax.linear_schedule(0.1, 0.0, 10)


def saved(directory: Path, definition: Any, focus: Any = None) -> tuple[Any, Path]:
    optimizer = with_moments(definition.create(PARAMS, focus=focus))
    return optimizer, written(directory / "legacy", optimizer)


def restored(content: bytes, tx: Any) -> TrainState:
    fresh = TrainState.create(apply_fn=None, params=PARAMS, tx=tx)
    return serialization.from_bytes(fresh, content)


def node(state: Any, kind: type) -> Any:
    """The one named tuple of this type in an optax state."""
    found = [
        each
        for each in jax.tree.leaves(state, is_leaf=lambda each: isinstance(each, kind))
        if isinstance(each, kind)
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("definition", "tx"),
    [
        (optim.Adam(0.1), optax.adamw(RATE)),
        (optim.LAMB(0.1), optax.lamb(0.1)),
        (optim.AdaBelief(0.1), optax.chain(optax.clip(1.0), optax.adabelief(0.1))),
        (optim.Momentum(0.1), optax.inject_hyperparams(optax.sgd)(0.1, momentum=0.9)),
        (optim.RMSProp(0.1), optax.rmsprop(0.1)),
        (optim.RMSProp(0.1, centered=True), optax.rmsprop(0.1, centered=True)),
        (optim.Adadelta(0.1), optax.adadelta(0.1)),
        (optim.Adagrad(0.1), optax.adagrad(0.1)),
        (optim.Adafactor(0.1, min_dim_size_to_factor=2), optax.adafactor(0.1, 2)),
        (optim.Adafactor(0.1, beta1=0.9), optax.adafactor(0.1, momentum=0.9)),
        (optim.GradientDescent(0.1), optax.sgd(0.1)),
        (optim.Adam(0.1), optax.inject_hyperparams(optax.adam)(0.1)),
        (
            optim.Momentum(0.1),
            optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1, 0.9)),
        ),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, optim.OptimizerDef) else "optax",
)
def test_every_moment_has_its_place(definition: Any, tx: Any, tmp_path: Path) -> None:
    _, source = saved(tmp_path, definition)
    state = restored(converted(source, "train-state", definitions=tx), tx)
    assert_same(state.params, PARAMS)
    assert state.step == 2
    back = converted(written(tmp_path / "state", state), "legacy")
    assert back == source.read_bytes()
    fresh = tx.init(PARAMS)
    assert jax.tree.structure(state.opt_state) == jax.tree.structure(fresh)
    shapes = [jax.tree.map(np.shape, each) for each in (state.opt_state, fresh)]
    assert shapes[0] == shapes[1]


def test_schedules_and_rates_of_the_transformation_are_kept(tmp_path: Path) -> None:
    _, source = saved(tmp_path, optim.Momentum(0.5))
    tx = optax.chain(
        optax.trace(0.9), optax.scale_by_schedule(RATE), optax.inject_hyperparams(optax.scale)(0.3)
    )
    state = restored(converted(source, "train-state", definitions=tx), tx)
    assert node(state.opt_state, optax.ScaleByScheduleState).count == 2
    assert node(state.opt_state, optax.InjectStatefulHyperparamsState).hyperparams == {
        "step_size": np.float32(0.3)
    }


def test_frozen_parameters_are_those_that_the_transformation_masks(tmp_path: Path) -> None:
    optimizer, source = saved(tmp_path, optim.Adam(0.1), focus=KERNELS)
    frozen = {"trained": optax.adam(0.1), "frozen": optax.set_to_zero()}
    tx = optax.multi_transform(frozen, LABELS)
    state = restored(converted(source, "train-state", definitions=tx), tx)
    moments = node(state.opt_state, optax.ScaleByAdamState)
    assert_same(moments.mu["kernel"], optimizer.state.param_states["kernel"].grad_ema)
    (tmp_path / "legacy.train-state").unlink()
    with pytest.raises(CheckpointError, match=r"keeps opt_state/0/mu/bias .* has no array for it"):
        converted(source, "train-state", definitions=optax.adam(0.1))


@pytest.mark.parametrize(
    ("definition", "tx", "message"),
    [
        (optim.Adam(0.1), optax.sgd(0.1), "no place for grad_ema of bias"),
        (optim.Adam(0.1), optax.rmsprop(0.1), "keeps opt_state/0/nu/bias .* no array for it"),
        (optim.Momentum(0.1), optax.lars(0.1), "momentum contains the learning rate"),
        (optim.Adam(0.1), optax.amsgrad(0.1), "keeps opt_state/0/mu/bias, which no optimizer"),
        (optim.Adafactor(0.1), optax.adafactor(0.1, 2), r"v_row/kernel of shape \(2,\).*\(1,\)"),
        (optim.Adafactor(0.1, beta1=0.9), optax.adafactor(0.1), "no place for m of bias"),
        (optim.WeightNorm(optim.Adam(0.1)), optax.adam(0.1), "moments of plain optimizers only"),
    ],
    ids=["sgd", "rmsprop", "lars", "amsgrad", "sizes", "momentum", "WeightNorm"],
)
def test_a_transformation_that_does_not_fit(
    definition: Any, tx: Any, message: str, tmp_path: Path
) -> None:
    _, source = saved(tmp_path, definition)
    with pytest.raises(CheckpointError, match=message):
        converted(source, "train-state", definitions=tx)
    assert [each.name for each in tmp_path.iterdir()] == ["legacy"]


def test_the_way_back_needs_no_transformation(tmp_path: Path) -> None:
    state = TrainState.create(apply_fn=None, params=PARAMS, tx=optax.adam(0.1))
    source = written(tmp_path / "state", state)
    with pytest.raises(CheckpointError, match="Give a legacy definition, or none"):
        converted(source, "legacy", definitions=optax.adam(0.1))


def optax_state(tx: Any, steps: int = 3) -> TrainState:
    """A TrainState with plain optax after some steps."""
    state = TrainState.create(apply_fn=None, params=PARAMS, tx=tx)
    for step in range(steps):
        grads = jax.tree.map(lambda leaf, step=step: jnp.cos(leaf + step), PARAMS)
        state = state.apply_gradients(grads=grads)
    return state


@pytest.mark.parametrize(
    ("tx", "message"),
    [
        (optax.amsgrad(0.1), "no place for opt_state/0/mu"),
        (optax.lars(0.1), "the last part of its chain, as in optax.lars"),
        (optax.rmsprop(0.1, momentum=0.9), r"fields of its state: nu, trace\)"),
        (optax.lion(0.1), "no place for opt_state/0/mu"),
        (optax.chain(optax.ema(0.9), optax.sgd(0.1)), r"fields of its state: ema\)"),
        (optax.multi_transform({"a": optax.sgd(0.1)}, "a"), "does not tell which optimizer moves"),
        (
            optax.multi_transform(
                {"a": optax.sgd(0.1), "b": optax.adam(0.1)}, {"bias": "a", "kernel": "b"}
            ),
            "does not tell which optimizer moves",
        ),
        (optax.apply_if_finite(optax.adam(0.1), 3), "no place for opt_state/notfinite_count"),
        (optax.novograd(0.1), "nu expected|grad_sq_ema expected"),
    ],
    ids=["amsgrad", "lars", "momentum", "lion", "ema", "labels", "two", "finite", "novograd"],
)
def test_what_no_optimizer_of_flax_optim_keeps(tx: Any, message: str, tmp_path: Path) -> None:
    source = written(tmp_path / "state", optax_state(tx, steps=1))
    with pytest.raises(CheckpointError, match=message):
        converted(source, "legacy")


def test_a_definition_tells_whose_the_parameters_without_moments_are(tmp_path: Path) -> None:
    parts = {"a": optax.sgd(0.1), "b": optax.adam(0.1)}
    state = optax_state(optax.multi_transform(parts, {"bias": "a", "kernel": "b"}))
    of_kernel = optim.ModelParamTraversal(lambda path, _: "kernel" in path)
    of_bias = optim.ModelParamTraversal(lambda path, _: "bias" in path)
    definition = optim.MultiOptimizer(
        (of_kernel, optim.Adam(0.1)), (of_bias, optim.GradientDescent(0.1))
    )
    source = written(tmp_path / "state", state)
    content = converted(source, "legacy", definitions=definition)
    restored = serialization.from_bytes(definition.create(PARAMS), content)
    adam = state.opt_state.inner_states["b"].inner_state[0]
    moments = restored.state.param_states["kernel"]
    assert_same((moments.grad_ema, moments.grad_sq_ema), (adam.mu["kernel"], adam.nu["kernel"]))
    assert restored.state.param_states["bias"] == ()


def test_a_definition_that_freezes_what_has_moments_is_refused(tmp_path: Path) -> None:
    focus = optim.ModelParamTraversal(lambda path, _: path.endswith("kernel"))
    source = written(tmp_path / "state", optax_state(optax.adam(0.1)))
    with pytest.raises(CheckpointError, match="does not move the parameter bias, but there are"):
        converted(source, "legacy", definitions=optim.MultiOptimizer((focus, optim.Adam(0.1))))


def test_a_step_that_is_not_that_of_the_moments_is_refused(tmp_path: Path) -> None:
    state = optax_state(optax.adam(0.1)).replace(step=7)
    with pytest.raises(CheckpointError, match="step is 7, but the count of the moments is 3"):
        converted(written(tmp_path / "state", state), "legacy")


def test_masked_adam_with_all_else_frozen(tmp_path: Path) -> None:
    focus = optim.ModelParamTraversal(lambda path, _: path.endswith("kernel"))
    optimizer = with_moments(optim.Adam(0.1).create(PARAMS, focus=focus))
    state = written(tmp_path / "state", optimizer.to_train_state())
    assert converted(state, "legacy") == serialization.to_bytes(optimizer)
