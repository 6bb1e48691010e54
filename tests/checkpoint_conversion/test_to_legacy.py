"""``checkpoint convert --to legacy`` from TrainStates that never were a legacy optimizer."""

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


def optax_state(tx: Any, steps: int = 3) -> TrainState:
    """A TrainState with plain optax after some steps."""
    state = TrainState.create(apply_fn=None, params=PARAMS, tx=tx)
    for step in range(steps):
        grads = jax.tree.map(lambda leaf, step=step: jnp.cos(leaf + step), PARAMS)
        state = state.apply_gradients(grads=grads)
    return state


EXACT = {
    "adamw": (optax.adamw(0.1), optim.Adam(0.1, weight_decay=1e-4)),
    "adabelief": (optax.adabelief(0.1), optim.AdaBelief(0.1)),
    "sgd": (optax.sgd(0.1), optim.GradientDescent(0.1)),
    "momentum": (
        optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1, 0.9)),
        optim.Momentum(0.1),
    ),
    "schedule": (optax.adam(optax.linear_schedule(0.1, 0.0, 10)), optim.Adam(0.1)),
    "rmsprop": (optax.rmsprop(0.1, eps_in_sqrt=False), optim.RMSProp(0.1)),
    "centered": (optax.rmsprop(0.1, centered=True), optim.RMSProp(0.1, centered=True)),
    "adadelta": (optax.adadelta(0.1), optim.Adadelta(0.1)),
    "adagrad": (optax.adagrad(0.1), optim.Adagrad(0.1)),
    "adafactor": (optax.adafactor(0.1, min_dim_size_to_factor=2), optim.Adafactor(0.1)),
    "injected": (optax.inject_hyperparams(optax.adam)(0.1), optim.Adam(0.1)),
}


@pytest.mark.parametrize("name", EXACT)
def test_train_states_with_plain_optax(name: str, tmp_path: Path) -> None:
    tx, definition = EXACT[name]
    state = optax_state(tx)
    content = serialization.msgpack_restore(converted(written(tmp_path / "state", state), "legacy"))
    assert_same(content["target"], state.params)
    assert content["state"]["step"] == 3 and content["state"]["step"].dtype == np.int32
    if name == "adafactor":
        definition = optim.Adafactor(0.1, min_dim_size_to_factor=2)
    restored = definition.create(PARAMS).restore_state(content)
    moments = {leaf.tobytes() for leaf in map(np.asarray, jax.tree.leaves(state.opt_state))}
    kept = {np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(restored.state)}
    # What Adafactor does not use has shape (1,) in both.
    assert kept - {np.zeros(1, np.float32).tobytes()} <= moments | {np.int32(3).tobytes()}


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
