"""Definitions that T5X can ask for the axes of their state: those of here, and those of T5X.

The latter do in its training state what they do on the genuine flax.optim.
"""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import core
from jax.sharding import PartitionSpec as P

from flaxoptim_compat import from_optax, optim
from flaxoptim_compat.bridge import t5x
from tests.support import cases
from tests.support import t5x_models as models
from tests.support.legacy_subclasses import FACTORIES
from tests.support.side_by_side import assert_same
from tests.support.t5x_definitions import AXES as AXES_SAID
from tests.support.t5x_definitions import FACTORIES as DEFINITIONS_OF_T5X
from tests.support.t5x_definitions import by_path, by_subtrees, logical_adam

PARAMS = {"w": jnp.linspace(-1.0, 2.0, 24).reshape(4, 6), "b": jnp.linspace(0.5, 1.0, 6)}
AXES = {"w": P("in", "out"), "b": P("out")}


def part(name: str) -> Any:
    return optim.ModelParamTraversal(lambda path, _: name in path)


def multi(rate: float = 0.1) -> Any:
    inner = optim.WeightNorm(optim.Adam(rate))
    return optim.MultiOptimizer((part("w"), inner), (part("b"), optim.Momentum(rate)))


SOME = {
    "Adam": lambda: optim.Adam(0.1, weight_decay=0.01),
    "Adafactor": lambda: optim.Adafactor(0.1, min_dim_size_to_factor=4, beta1=0.9),
    "MultiOptimizer": multi,
}
some = pytest.mark.parametrize("make", SOME.values(), ids=SOME)


def derived(definition: Any, params: Any, axes: Any) -> Any:
    optimizer = jax.eval_shape(definition.create, params)
    return definition.derive_logical_axes(optimizer, axes)


@pytest.mark.parametrize("name", [case.name for case in cases.CASES])
def test_every_array_of_every_definition_has_axes(name: str) -> None:
    case = cases.case(name)
    plain = case.build(optim)
    definition = t5x.with_logical_axes(plain)
    params = jax.eval_shape(lambda: jax.tree.map(jnp.asarray, case.parameters()))
    axes = jax.tree.map(lambda leaf: P(*map(str, range(leaf.ndim))), params)
    found = derived(definition, params, core.freeze(axes))
    arrays, specs = jax.eval_shape(plain.init_state, params).param_states, found.state.param_states
    missing = jax.tree.map(lambda array, spec: array.ndim - len(spec), arrays, specs)
    assert jax.tree.structure(missing) == jax.tree.structure(arrays)
    assert not any(jax.tree.leaves(missing))
    assert found.state.step is None and found.target == axes
    assert jax.tree.structure(found.target) == jax.tree.structure(params)
    assert type(found) is optim.Optimizer and found.optimizer_def is definition
    assert isinstance(definition, type(plain))
    assert not hasattr(plain, "derive_logical_axes")


@pytest.mark.parametrize("name", FACTORIES)
def test_definitions_of_the_users_too(name: str) -> None:
    definition = t5x.with_logical_axes(FACTORIES[name](optim))
    found = derived(definition, PARAMS, AXES)
    assert found.target == AXES and found.state.step is None


def test_factored_statistics_and_momentum() -> None:
    definition = t5x.with_logical_axes(SOME["Adafactor"]())
    w, b = (derived(definition, PARAMS, AXES).state.param_states[name] for name in "wb")
    assert (w.v_row, w.v_col, w.v, w.m) == (P("in"), P("out"), P(None), P("in", "out"))
    assert (b.v_row, b.v_col, b.v, b.m) == (P(None), P(None), P("out"), P("out"))


def test_parts_of_a_multi_optimizer() -> None:
    states = derived(t5x.with_logical_axes(multi()), PARAMS, AXES).state.param_states
    assert states["w"].scale_state.grad_ema == P(None, "out")
    assert states["b"].momentum == P("out")
    focused = optim.Adam(0.1).create(PARAMS, focus=part("w"))
    definition = t5x.with_logical_axes(focused.optimizer_def)
    states = definition.derive_logical_axes(focused, AXES).state.param_states
    assert states["w"].grad_ema == P("in", "out") and states["b"] is None


@some
def test_nothing_else_is_changed(make: Any) -> None:
    plain, definition = make(), t5x.with_logical_axes(make())
    assert type(definition).__name__ == type(plain).__name__
    assert type(definition).__doc__ == type(plain).__doc__
    assert definition == t5x.with_logical_axes(make())
    assert hash(definition) == hash(t5x.with_logical_axes(make()))
    assert definition.optax_expression() == plain.optax_expression()
    assert definition.removal_notice() == plain.removal_notice()
    assert not definition.own_code()
    mine, reference = definition.create(PARAMS), plain.create(PARAMS)
    for _ in range(3):
        mine = mine.apply_gradient(PARAMS, learning_rate=0.05)
        reference = reference.apply_gradient(PARAMS, learning_rate=0.05)
    assert_same(mine, reference)
    states = [each.to_train_state().apply_gradients(grads=PARAMS) for each in (mine, reference)]
    assert_same(*[(each.params, each.opt_state) for each in states])
    back = optim.Optimizer.from_train_state(states[0], definition)
    assert_same(back, optim.Optimizer.from_train_state(states[1], plain))
    assert back.optimizer_def is definition


def test_hyper_parameters_count_in_comparisons() -> None:
    definition = t5x.with_logical_axes(optim.Adam(0.1))
    assert definition != t5x.with_logical_axes(optim.Adam(0.2))
    assert definition != t5x.with_logical_axes(optim.Momentum(0.1))
    assert definition != optim.Adam(0.1)


def test_the_copy_is_independent() -> None:
    plain = multi()
    definition: Any = t5x.with_logical_axes(plain)
    definition.hyper_params[1] = definition.hyper_params[1].replace(learning_rate=0.5)
    definition.sub_optimizers[1].hyper_params = definition.hyper_params[1]
    assert plain == multi()
    assert type(plain) is optim.MultiOptimizer


def test_a_definition_that_has_the_method_is_returned_as_it_is() -> None:
    definition = logical_adam(optim)
    assert t5x.with_logical_axes(definition) is definition
    mine = t5x.with_logical_axes(optim.Adam(0.1))
    assert t5x.with_logical_axes(mine) is mine


def test_it_does_not_warn_again() -> None:
    definition = optim.Adam(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        t5x.with_logical_axes(definition)


def test_optax_behind_the_legacy_api() -> None:
    """What T5X had its OptaxWrapper for, which ignored the learning rate of a step."""
    definition = t5x.with_logical_axes(from_optax(optax.lion, learning_rate=0.1))
    state = t5x.FlaxOptimTrainState.create(definition, models.variables())
    moments = state.as_logical_axes().param_states.inner_state[0].mu
    assert moments == models.specs()
    after = state.apply_gradient(models.gradients(0), learning_rate=0.5)
    signs = jax.tree.map(np.sign, models.gradients(0))
    decayed = jax.tree.map(
        lambda p, sign: p - np.float32(0.5) * (sign + 1e-3 * p), state.params, signs
    )
    # XLA may fuse the product of the decay with the sum.
    assert_same(after.params, decayed, ulps=1.0)


@pytest.mark.parametrize("value", [optim.Adam, None], ids=["class", "None"])
def test_only_definitions_are_taken(value: Any) -> None:
    with pytest.raises(TypeError, match=r"takes a definition, such as `optim\.Adam"):
        t5x.with_logical_axes(value)
    with pytest.raises(TypeError, match="not Optimizer"):
        t5x.with_logical_axes(optim.Adam(0.1).create(PARAMS))  # type: ignore[type-var]


def test_axes_of_other_parameters_are_refused() -> None:
    definition = t5x.with_logical_axes(optim.Adam(0.1))
    with pytest.raises(ValueError, match="param_logical_axes do not have the structure"):
        derived(definition, PARAMS, {"w": P("in", "out")})
    with pytest.raises(ValueError, match="names 2 axes, its parameter has 1"):
        derived(definition, PARAMS, {"w": P("in", "out"), "b": P("in", "out")})


@pytest.mark.parametrize("momentum", [None, 0.9])
def test_as_a_part_that_is_given_axes_in_place_of_parameters(momentum: float | None) -> None:
    adafactor = optim.Adafactor(0.1, min_dim_size_to_factor=4, beta1=momentum)
    weight_norm = optim.WeightNorm(optim.Adam(0.1))

    def states(*pairs: Any) -> Any:
        inner = t5x.with_logical_axes(optim.MultiOptimizer(*pairs))
        definition = by_subtrees(optim, [(part(""), inner)])
        return derived(definition, PARAMS, AXES).state.param_states

    found = states((part("w"), adafactor), (part("b"), weight_norm))
    w, b = found["w"], found["b"]
    # With a moment of the full shape it is known which axis each factor has; else they have none.
    factors = (P("in"), P("out")) if momentum else (P(None), P(None))
    assert (w.v_row, w.v_col) == factors
    assert w.m == (P("in", "out") if momentum else P(None))
    assert b.direction == b.direction_state.grad_ema == P("out")
    found = states((part("w"), weight_norm))
    assert (found["w"].scale, found["w"].direction) == (P(None, "out"), P("in", "out"))
    assert found["b"] is None


class CountsSteps(optim.OptimizerDef):
    def init_param_state(self, param: Any) -> Any:
        return jnp.zeros(())


def test_as_such_a_part_without_any_moment() -> None:
    definition = by_subtrees(optim, [(part("w"), t5x.with_logical_axes(CountsSteps(None)))])
    assert derived(definition, PARAMS, AXES).state.param_states["w"] == P()


every_definition = pytest.mark.parametrize("name", DEFINITIONS_OF_T5X)


def create(name: str, freeze: Any = core.freeze, base: Any = optim) -> Any:
    return t5x.FlaxOptimTrainState.create(
        DEFINITIONS_OF_T5X[name](base), freeze(models.variables())
    )


@every_definition
@pytest.mark.parametrize("freeze", [core.freeze, dict], ids=["frozen", "dict"])
def test_training_equals_the_genuine(genuine: Any, name: str, freeze: Any) -> None:
    step = jax.jit(lambda state, grads: state.apply_gradient(grads, learning_rate=0.05))
    states = [create(name, freeze, base) for base in (optim, genuine)]
    for number in range(3):
        grads = freeze(models.gradients(number))
        states = [step(state, grads) for state in states]
    mine, theirs = (state._optimizer for state in states)
    # XLA fuses Adam in another order; the others run the same code.
    assert_same(mine, theirs, ulps=4.0 if name == "logical_adam" else 0.0)
    assert jax.tree.structure(mine.target) == jax.tree.structure(theirs.target)


@every_definition
def test_state_dicts_equal_the_genuine(genuine: Any, name: str) -> None:
    mine, theirs = (create(name, base=base).state_dict() for base in (optim, genuine))
    assert_same(mine, theirs)
    assert jax.tree.structure(mine) == jax.tree.structure(theirs)


def test_the_factors_of_a_parameter_follow_its_axis_names() -> None:
    state = create("factored")
    factor_map = state._optimizer.optimizer_def.hyper_params.factor_map
    assert {path: [factor.name for factor in rule] for path, rule in factor_map.items()} == {
        "dense/bias": ["COLUMN"],
        "dense/kernel": ["ROW", "COLUMN"],
        "embedding": ["COLUMN", "ROW"],
        "stack": ["BATCH", "ROW", "COLUMN"],
    }
    stack = state.param_states["stack"]
    assert (stack.v_row.shape, stack.v_col.shape, stack.v.shape) == ((2, 8), (2, 16), (1,))


@every_definition
def test_logical_axes_are_those_that_the_definition_derives(name: str) -> None:
    state = create(name)
    axes = state.as_logical_axes()
    found = {
        path: tuple(vars(each).values())
        for path, each in by_path(axes.param_states).items()
        if each is not None
    }
    assert found == AXES_SAID[name]
    assert axes.step is None and axes.params == core.freeze(models.specs())
    assert axes._optimizer.optimizer_def is state._optimizer.optimizer_def


def test_axes_of_a_mesh_by_way_of_the_state_dict() -> None:
    """As T5X's partitioner does it, with a definition of T5X's and with one of these here."""
    mutables = {"cache": {"k": np.ones(4)}, "cache_axes": {"k_axes": models.AxisMetadata(("mlp",))}}
    variables = core.freeze(models.variables(**mutables))
    adafactor = t5x.with_logical_axes(optim.Adafactor(0.1, min_dim_size_to_factor=8))
    for definition in (DEFINITIONS_OF_T5X["logical_adam"](optim), adafactor):
        state = t5x.FlaxOptimTrainState.create(definition, variables)
        axes = models.mesh_axes(state.as_logical_axes())
        assert axes.step is None
        assert axes.params["embedding"] == P("model", None)
        assert axes.flax_mutables == core.freeze({"cache": {"k": P("model")}})
    kernel = axes.param_states["dense"]["kernel"]
    assert (kernel.v_row, kernel.v_col, kernel.v) == (P(None), P("model"), P(None))
    inference = t5x.InferenceState.create(variables).as_logical_axes()
    assert models.mesh_axes(inference).params["dense"]["bias"] == P("model")


@every_definition
def test_the_way_out(name: str) -> None:
    state = create(name).apply_gradient(core.freeze(models.gradients(0)), 0.05)
    optimizer, grads = state._optimizer, core.freeze(models.gradients(1))
    train_state = optimizer.to_train_state(learning_rate=0.05).apply_gradients(grads=grads)
    back = optim.Optimizer.from_train_state(train_state, optimizer.optimizer_def)
    # A definition's own code becomes an update, the difference of two parameters.
    assert_same(back, state.apply_gradient(grads, 0.05)._optimizer, ulps=4.0)


def test_a_training_loop_of_t5x_may_shape_its_state_before_it_makes_it() -> None:
    """It calls create in a trace, with a definition that it goes on using outside."""
    definition = DEFINITIONS_OF_T5X["factored"](optim)
    variables = core.freeze(models.variables())
    shapes = jax.eval_shape(
        lambda: t5x.FlaxOptimTrainState.create(definition, jax.tree.map(jnp.asarray, variables))
    )
    state = t5x.FlaxOptimTrainState.create(definition, variables)
    assert jax.tree.structure(shapes) == jax.tree.structure(state)
    assert_same(
        jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes.param_states),
        state.param_states,
    )
