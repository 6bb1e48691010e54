"""T5X's states for training and inference: parts, state dicts, and what they refuse."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import core, linen, serialization
from flax.core import FrozenDict
from flax.linen import partitioning
from flax.linen.partitioning import AxisMetadata

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import t5x
from tests.support import t5x_models as models
from tests.support.side_by_side import assert_same, named_leaves

Freeze = Callable[[Any], Any]
MUTABLES = {"batch_stats": {"mean": np.ones(3, np.float32)}, "cache": {"dense": {"k": np.ones(4)}}}
CACHE_AXES = {"dense": {"k_axes": AxisMetadata(names=("embed",))}}


def unfrozen(tree: Any) -> Any:
    return tree


both_dicts = pytest.mark.parametrize("freeze", [core.freeze, unfrozen], ids=["frozen", "dict"])


def make(freeze: Freeze = unfrozen, **collections: Any) -> t5x.FlaxOptimTrainState:
    definition = optim.Momentum(learning_rate=0.1, beta=0.9)
    return t5x.FlaxOptimTrainState.create(definition, freeze(models.variables(**collections)))


@both_dicts
def test_create_takes_variables_apart(freeze: Freeze) -> None:
    variables = freeze(models.variables(**MUTABLES, cache_axes=CACHE_AXES))
    names = list(variables)
    state = t5x.FlaxOptimTrainState.create(optim.Adam(0.1), variables)
    assert isinstance(state._optimizer, optim.Optimizer)
    assert state.step == 0 and state.step.dtype == jnp.int32
    assert type(state.params) is type(variables)
    assert state.params is state._optimizer.target
    assert state.param_states is state._optimizer.state.param_states
    assert_same(state.params, models.params())
    assert state.params_axes == models.params_axes()
    assert isinstance(state.flax_mutables, FrozenDict)
    assert_same(state.flax_mutables, MUTABLES)
    assert state.flax_mutables_axes == core.freeze({"cache": CACHE_AXES})
    assert list(variables) == names


def test_create_without_axes() -> None:
    state = t5x.FlaxOptimTrainState.create(optim.Adam(0.1), {"params": models.params()})
    assert state.params_axes is None
    assert state.flax_mutables == t5x.EMPTY_DICT and isinstance(state.flax_mutables, FrozenDict)
    assert state.flax_mutables_axes is None


def test_fields_and_defaults_are_those_of_t5x() -> None:
    def fields(cls: Any) -> dict[str, Any]:
        return {field.name: field.default for field in dataclasses.fields(cls)}

    missing = dataclasses.MISSING
    rest = {"params_axes": None, "flax_mutables": FrozenDict(), "flax_mutables_axes": None}
    assert fields(t5x.FlaxOptimTrainState) == {"_optimizer": missing, **rest}
    assert fields(t5x.InferenceState) == {"step": missing, "params": missing, **rest}


@pytest.mark.parametrize(
    ("variables", "error", "text"),
    [
        ({}, KeyError, "'params'"),
        (core.freeze({}), KeyError, "'params'"),
        ([], TypeError, "Expected FrozenDict or dict, got <class 'list'>"),
        (
            {"params": models.params(), "params_axes": {"dense": models.params_axes()["dense"]}},
            ValueError,
            "Missing axis names for parameters: ",
        ),
        (
            {"params": {}, "cache": {"k": np.ones(1)}, "cache_axes": {}},
            ValueError,
            "Missing axis names for parameters: {'k'}",
        ),
        ({"params": {}, "cache_axes": {}}, KeyError, "'cache'"),
    ],
)
def test_variables_that_are_refused(variables: Any, error: type[Exception], text: str) -> None:
    creates: list[Callable[[Any], Any]] = [
        t5x.InferenceState.create,
        lambda variables: t5x.FlaxOptimTrainState.create(optim.Adam(0.1), variables),
    ]
    for create in creates:
        with pytest.raises(error) as caught:
            create(variables)
        assert str(caught.value).startswith(text)


def test_missing_axis_names_are_listed() -> None:
    axes = models.params_axes()
    del axes["dense"]["bias_axes"], axes["stack_axes"]
    with pytest.raises(ValueError, match="Missing axis names") as caught:
        t5x.InferenceState.create({"params": models.params(), "params_axes": axes})
    listed = str(caught.value).partition(": ")[2]
    assert listed in ("{'stack', 'dense/bias'}", "{'dense/bias', 'stack'}")


class TellsItsAxes(optim.Momentum):
    told: Any = None

    def set_param_axes(self, param_logical_axes: Any) -> None:
        self.told = param_logical_axes


def test_a_definition_that_wants_axis_names_is_told_them_before_its_state_is_made() -> None:
    class Checks(TellsItsAxes):
        def init_state(self, params: Any) -> Any:
            assert self.told is not None
            return super().init_state(params)

    definition = Checks(0.1)
    state = t5x.FlaxOptimTrainState.create(definition, models.variables())
    assert state._optimizer.optimizer_def is definition
    assert definition.told == core.freeze(models.specs())


def test_a_definition_that_wants_axis_names_is_refused_without_them() -> None:
    text = (
        "The optimizer supports params_axes for model-based partitioning, but the model is not"
        " emitting them."
    )
    with pytest.raises(ValueError, match=f"^{text}$"):
        t5x.FlaxOptimTrainState.create(TellsItsAxes(0.1), {"params": models.params()})
    # The variables are looked at first.
    with pytest.raises(KeyError, match="cache"):
        t5x.FlaxOptimTrainState.create(TellsItsAxes(0.1), {"params": {}, "cache_axes": {}})


@both_dicts
def test_the_state_dict_is_that_of_the_optimizer_and_the_mutables(freeze: Freeze) -> None:
    state = make(freeze, **MUTABLES)
    state_dict = state.state_dict()
    kernel = state_dict["state"]["param_states"]["dense"]["kernel"]
    assert list(state_dict) == ["target", "state", "flax_mutables"]
    assert list(state_dict["state"]) == ["step", "param_states"]
    assert list(kernel) == ["momentum"]
    assert all(type(entry) is dict for entry in (*state_dict.values(), kernel))
    assert_same(state_dict["flax_mutables"], MUTABLES)
    optimizer_dict = state._optimizer.state_dict()
    assert_same({key: state_dict[key] for key in optimizer_dict}, optimizer_dict)
    assert "flax_mutables" not in make(freeze).state_dict()


@both_dicts
def test_a_state_restores_what_another_saved(freeze: Freeze) -> None:
    trained = make(freeze, **MUTABLES).apply_gradient(freeze(models.gradients(0)), 0.1, MUTABLES)
    saved = serialization.msgpack_restore(serialization.msgpack_serialize(trained.state_dict()))
    restored = make(freeze).restore_state(saved)
    assert_same(restored._optimizer, trained._optimizer)
    assert isinstance(restored.flax_mutables, FrozenDict)
    assert_same(restored.flax_mutables, MUTABLES)
    assert restored.params_axes == models.params_axes()
    del saved["flax_mutables"]
    assert trained.restore_state(saved).flax_mutables == t5x.EMPTY_DICT


def test_flax_serialization_saves_the_fields() -> None:
    state = make(**MUTABLES)
    entries = serialization.to_state_dict(state)
    names = ["_optimizer", "params_axes", "flax_mutables", "flax_mutables_axes"]
    assert list(entries) == names
    assert_same(serialization.from_state_dict(make(**MUTABLES), entries), state)


def test_a_step_hands_on_the_new_mutables_only() -> None:
    state = make(**MUTABLES)
    after = state.apply_gradient(models.gradients(0), learning_rate=0.25, flax_mutables={"a": 1})
    expected = state._optimizer.apply_gradient(models.gradients(0), learning_rate=0.25)
    assert_same(after._optimizer, expected)
    assert after.flax_mutables == {"a": 1} and after.params_axes == state.params_axes
    assert state.apply_gradient(models.gradients(0), 0.25).flax_mutables == t5x.EMPTY_DICT


def test_parts_are_replaced() -> None:
    state = make(**MUTABLES)
    zeros = jax.tree.map(np.zeros_like, models.params())
    assert_same(state.replace_params(zeros).params, zeros)
    assert_same(state.replace_params(zeros).param_states, state.param_states)
    assert state.replace_flax_mutables({"a": 1}).flax_mutables == {"a": 1}
    moved = state.replace_flax_mutables({"a": np.ones(1)}).replace_step(jnp.asarray(7, jnp.int32))
    assert moved.step == 7 and moved.step.dtype == jnp.int32
    assert isinstance(moved.flax_mutables, FrozenDict)
    assert_same(moved.replace_step(state.step)._optimizer, state._optimizer)


def test_a_definition_without_logical_axes_is_refused() -> None:
    text = (
        "Optimizer 'Momentum' requires a `derive_logical_axes` method to be used with named axis"
        " partitioning."
    )
    with pytest.raises(ValueError, match=f"^{text}$"):
        make().as_logical_axes()


def test_states_are_pytrees_that_jit_takes_with_their_axes_static() -> None:
    state = make(**MUTABLES, cache_axes=CACHE_AXES)
    leaves = named_leaves((state._optimizer, state.flax_mutables))
    assert len(jax.tree.leaves(state)) == len(leaves)
    after = jax.jit(lambda state: state.replace_flax_mutables({"a": state.step}))(state)
    assert_same(after._optimizer, state._optimizer)
    assert (after.params_axes, after.flax_mutables_axes) == (
        state.params_axes,
        state.flax_mutables_axes,
    )
    shapes = jax.eval_shape(lambda: make(**MUTABLES))
    assert isinstance(shapes.params["embedding"], jax.ShapeDtypeStruct)
    assert shapes.params_axes == state.params_axes


def test_both_states_follow_the_protocol() -> None:
    assert isinstance(make(), t5x.TrainState)
    assert isinstance(t5x.InferenceState.create(models.variables()), t5x.TrainState)
    assert not isinstance(make()._optimizer, t5x.TrainState)


class Embedding(linen.Module):
    @linen.compact
    def __call__(self, tokens: Any) -> Any:
        normal = linen.initializers.normal()
        table = partitioning.param_with_axes("table", normal, (8, 4), axes=("vocab", "embed"))
        return table[tokens]


def test_the_variables_of_a_linen_model() -> None:
    variables = Embedding().init(jax.random.PRNGKey(0), jnp.zeros(2, jnp.int32))
    definition = t5x.with_logical_axes(optim.Adam(0.1))
    state = t5x.FlaxOptimTrainState.create(definition, variables)
    axes = state.as_logical_axes()
    assert axes.params == {"table": models.P("vocab", "embed")}
    assert axes.param_states["table"].grad_ema == models.P("vocab", "embed")


@both_dicts
def test_inference_state(freeze: Freeze) -> None:
    variables = freeze(models.variables(**MUTABLES, cache_axes=CACHE_AXES))
    state = t5x.InferenceState.create(variables)
    assert state.step == 0 and state.params_axes == models.params_axes()
    assert_same(state.params, models.params())
    assert state.flax_mutables_axes == core.freeze({"cache": CACHE_AXES})
    expected = {"target": models.params(), "state": {"step": jnp.array(0)}}
    assert_same(state.state_dict(), {**expected, "flax_mutables": MUTABLES})
    assert_same(state.replace_flax_mutables({}).state_dict(), expected)
    assert state.replace_step(3).step == 3
    assert state.replace_params({"a": 1}).params == {"a": 1}
    axes = state.as_logical_axes()
    assert (axes.step, axes.params_axes, axes.flax_mutables_axes) == (None, None, None)
    assert axes.params == core.freeze(models.specs())
    assert axes.flax_mutables == core.freeze({"cache": {"dense": {"k": models.P("embed")}}})


def test_inference_state_restores_a_training_state() -> None:
    trained = make(**MUTABLES).apply_gradient(models.gradients(0), 0.1, MUTABLES)
    state = t5x.InferenceState.create(models.variables()).restore_state(trained.state_dict())
    assert state.step == 1 and isinstance(state.params, FrozenDict)
    assert_same(state.params, trained.params)
    assert_same(state.flax_mutables, MUTABLES)
    without = state.restore_state(make().state_dict())
    assert without.flax_mutables == t5x.EMPTY_DICT and without.params_axes == state.params_axes


def test_inference_state_has_no_optimizer() -> None:
    state = t5x.InferenceState.create(models.variables())
    with pytest.raises(NotImplementedError, match=r"^InferenceState has no optimizer states\.$"):
        _ = state.param_states
    text = r"^InferenceState does not support `apply_gradient`\.$"
    with pytest.raises(NotImplementedError, match=text):
        state.apply_gradient(models.gradients(0), learning_rate=0.1)
