"""T5X's state for inference."""

from __future__ import annotations

import jax.numpy as jnp
import pytest
from flax import core
from flax.core import FrozenDict

from flaxoptim_compat.bridge import t5x
from tests.support import t5x_models as models
from tests.support.side_by_side import assert_same
from tests.support.t5x_states import CACHE_AXES, MUTABLES, Freeze, both_dicts, make


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
