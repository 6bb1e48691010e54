"""One test for each heading of migration_guide/known_differences.md."""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import traverse_util
from flax.training import dynamic_scale

import flaxoptim_compat
from flaxoptim_compat import optim
from tests.support import cases, places
from tests.support.beside_genuine import run
from tests.support.half_precision import skip_unless_rounded

GUIDE = places.GUIDE / "known_differences.md"
HALVES = (jnp.bfloat16, jnp.float16)


def test_each_heading_has_a_test() -> None:
    headings = re.findall(r"^## (.*)$", GUIDE.read_text(), re.MULTILINE)
    names = {"test_" + re.sub(r"[^a-z0-9]+", "_", heading.lower()) for heading in headings}
    assert names <= set(globals())


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ["Adam", "Momentum", "RMSProp", "LARS", "Adagrad"])
def test_half_precision_parameters_keep_their_dtype(genuine: Any, name: str, dtype: Any) -> None:
    params, rate = {"w": jnp.ones(3, dtype)}, jnp.float32(0.1)
    for grads in ({"w": jnp.ones(3, dtype)}, {"w": jnp.ones(3, jnp.float32)}):
        for eager in (True, False):
            step = lambda optimizer, grads=grads: optimizer.apply_gradient(
                grads, learning_rate=rate
            )
            before = getattr(optim, name)().create(params)
            after = step(before) if eager else jax.jit(step)(before)
            assert {leaf.dtype for leaf in jax.tree.leaves(after.target)} == {jnp.dtype(dtype)}
            assert jax.tree.map(lambda leaf: leaf.dtype, after.state.param_states) == jax.tree.map(
                lambda leaf: leaf.dtype, before.state.param_states
            )
        widened = step(getattr(genuine, name)().create(params))
        assert widened.target["w"].dtype == jnp.float32


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("compiled", [True, False])
def test_float32_parameters_keep_their_dtype_in_64_bit_mode(genuine: Any, compiled: bool) -> None:
    params, rate = {"w": jnp.ones(3, jnp.float32)}, jnp.asarray(0.1, jnp.float64)
    dtypes = []
    for module in (optim, genuine):
        step = lambda each: each.apply_gradient(params, learning_rate=rate)
        optimizer = module.Momentum().create(params)
        dtypes.append((jax.jit(step) if compiled else step)(optimizer).target["w"].dtype)
    assert dtypes == [jnp.float32, jnp.float64]


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", ["GradientDescent", "Momentum", "Adam", "RMSProp", "Adagrad"])
def test_half_precision_gradients_and_moments_beside_wider_parameters(
    genuine: Any, name: str, half: Any
) -> None:
    params = {"w": jnp.linspace(0.5, 1.0, 8)}
    grads = {"w": jnp.linspace(0.1, 1.0, 8).astype(half)}
    mine = getattr(optim, name)(0.1).create(params)
    with_train_state = mine.to_train_state().apply_gradients(grads=grads)
    mine = mine.apply_gradient(grads)
    theirs = getattr(genuine, name)(0.1).create(params).apply_gradient(grads)
    assert {leaf.dtype for leaf in jax.tree.leaves(mine.target)} == {jnp.dtype(jnp.float32)}
    last_place = float(jnp.finfo(half).eps * jnp.max(jnp.abs(theirs.target["w"] - params["w"])))
    np.testing.assert_allclose(mine.target["w"], theirs.target["w"], rtol=0, atol=last_place)
    np.testing.assert_allclose(mine.target["w"], with_train_state.params["w"], rtol=0, atol=1e-7)
    wide = getattr(genuine, name)(0.1).create(params)
    wide = wide.apply_gradient({"w": grads["w"].astype(jnp.float32)})
    if name in ("GradientDescent", "Momentum"):
        np.testing.assert_array_equal(mine.target["w"], wide.target["w"])
    narrow = mine.replace(state=jax.tree.map(_halved(half), mine.state))
    after = narrow.apply_gradient({"w": grads["w"].astype(jnp.float32)})
    same = jax.tree.map(lambda one, other: one.dtype == other.dtype, after.state, narrow.state)
    assert all(jax.tree.leaves(same))


def _halved(half: Any) -> Any:
    return lambda leaf: leaf.astype(half) if jnp.issubdtype(leaf.dtype, jnp.inexact) else leaf


@pytest.mark.parametrize("name", ["Adam", "AdaBelief", "LAMB"])
def test_half_precision_bias_correction_is_done_in_float32(genuine: Any, name: str) -> None:
    params = {"w": jnp.linspace(0.5, 1.0, 8, dtype=jnp.bfloat16)}
    grads = {"w": jnp.linspace(0.1, 1.0, 8, dtype=jnp.bfloat16)}
    mine = getattr(optim, name)(0.1).create(params).apply_gradient(grads)
    stuck = getattr(genuine, name)(0.1).create(params).apply_gradient(grads)
    wide = getattr(genuine, name)(0.1).create({"w": params["w"].astype(jnp.float32)})
    wide = wide.apply_gradient({"w": grads["w"].astype(jnp.float32)})
    assert not np.any(np.isfinite(stuck.target["w"]) & (stuck.target["w"] != params["w"]))
    # Both round once to bfloat16, whose last place is 2**-8 here; the moments are bfloat16 too.
    np.testing.assert_allclose(
        np.asarray(mine.target["w"], np.float32), wide.target["w"], rtol=0, atol=2**-7
    )
    skip_unless_rounded(params)
    for moment, same in zip(jax.tree.leaves(mine.state), jax.tree.leaves(stuck.state), strict=True):
        np.testing.assert_array_equal(moment, same)


def test_lamb_stands_still_where_there_is_nothing_to_do(genuine: Any) -> None:
    params = {"w": jnp.ones(3), "zero": jnp.zeros(3)}
    nothing = jax.tree.map(jnp.zeros_like, params)
    mine = optim.LAMB(0.1).create(params).apply_gradient(nothing)
    np.testing.assert_array_equal(mine.target["w"], params["w"])
    assert np.all(np.isnan(genuine.LAMB(0.1).create(params).apply_gradient(nothing).target["w"]))
    moved = jax.tree.map(jnp.ones_like, params)
    for namespace in (optim, genuine):
        after = namespace.LAMB(0.1).create(params).apply_gradient(moved)
        np.testing.assert_array_equal(after.target["zero"], params["zero"])


def test_weightnorm_takes_scalars_and_zero_columns(genuine: Any) -> None:
    params = {"s": jnp.ones(()), "w": jnp.ones((3, 2)).at[:, 0].set(0.0)}
    grads = jax.tree.map(jnp.ones_like, params)
    mine = optim.WeightNorm(optim.Momentum(0.1), wn_eps=0.0).create(params).apply_gradient(grads)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(mine))
    alone = optim.Momentum(0.1).create(params["s"]).apply_gradient(grads["s"])
    np.testing.assert_array_equal(mine.target["s"], alone.target)
    with pytest.raises(IndexError):
        genuine.WeightNorm(genuine.Momentum(0.1)).create({"s": params["s"]})
    theirs = genuine.WeightNorm(genuine.Momentum(0.1), wn_eps=0.0).create({"w": params["w"]})
    assert np.any(np.isnan(theirs.apply_gradient({"w": grads["w"]}).target["w"]))


def test_complex_parameters_use_absolute_squares(genuine: Any) -> None:
    params, grads = {"w": jnp.ones(2, jnp.complex64)}, {"w": jnp.full(2, 3.0 + 4.0j)}
    mine = optim.Adam(0.1).create(params).apply_gradient(grads)
    theirs = genuine.Adam(0.1).create(params).apply_gradient(grads)
    share = 1.0 - 0.999
    np.testing.assert_allclose(mine.state.param_states["w"].grad_sq_ema, share * 25.0, rtol=1e-6)
    np.testing.assert_allclose(
        theirs.state.param_states["w"].grad_sq_ema, share * (3.0 + 4.0j) ** 2, rtol=1e-6
    )
    adafactor = optim.Adafactor(0.1).create(params).apply_gradient(grads)
    np.testing.assert_array_equal(adafactor.state.param_states["w"].v, [9.0, 9.0])
    # Flax says with jax's warning that it drops the other part.
    with pytest.warns(Warning, match="Casting "):
        theirs = genuine.Adafactor(0.1).create(params).apply_gradient(grads)
    np.testing.assert_array_equal(theirs.state.param_states["w"].v, [9.0, 9.0])


@pytest.mark.usefixtures("x64")
def test_a_trainstate_corrects_its_bias_in_float64_in_64_bit_mode(genuine: Any) -> None:
    case = next(case for case in cases.CASES if case.name == "Adam-default")
    # In float32 XLA makes other multiplications of the two divisions by the corrections.
    for dtype, ulps in (("float32", 2.0), ("float64", 1.5)):
        (_, found), *_ = run(case, optim, genuine, dtype=dtype, steps=1, jit=True)
        assert found.params <= ulps
        # One update, from zero: its bits are those of the correction.
        grads = {"w": jnp.linspace(0.1, 1.0, 64, dtype=dtype)}
        optimizer = optim.Adam(0.1).create(jax.tree.map(jnp.zeros_like, grads))
        mine = jax.jit(lambda state, grads: state.apply_gradient(grads))(optimizer, grads).target
        state = jax.jit(lambda state, grads: state.apply_gradients(grads=grads))(
            optimizer.to_train_state(), grads
        )
        difference = np.max(np.abs(state.params["w"] / mine["w"] - 1.0))
        if dtype == "float64":
            assert difference < 1e-15
        else:
            assert 1e-6 < difference < 2e-5


def test_assigning_hyper_parameters_reaches_compiled_steps(genuine: Any) -> None:
    params, grads = {"w": jnp.ones(())}, {"w": jnp.ones(())}
    results = []
    for namespace in (optim, genuine):
        optimizer = namespace.GradientDescent(0.5).create(params)
        step = jax.jit(lambda optimizer, grads: optimizer.apply_gradient(grads))
        step(optimizer, grads)
        definition = optimizer.optimizer_def
        definition.hyper_params = definition.hyper_params.replace(learning_rate=0.25)
        results.append(float(step(optimizer, grads).target["w"]))
    assert results == [0.75, 0.5]


def test_equal_definitions_are_equal(genuine: Any) -> None:
    for module, count in ((optim, 1), (genuine, 2)):
        pair = [module.Adam(0.1), module.Adam(0.1)]
        assert (pair[0] == pair[1]) is (count == 1)
        assert len({*pair}) == count


@pytest.mark.parametrize("whole", ["MultiOptimizer", "WeightNorm"])
def test_definitions_of_your_own_derive_from_optimizerdef(genuine: Any, whole: str) -> None:
    def around(namespace: Any, part: Any) -> Any:
        every = namespace.ModelParamTraversal(lambda path, _: True)
        pair = namespace.MultiOptimizer
        return pair((every, part)) if whole == "MultiOptimizer" else namespace.WeightNorm(part)

    class Like:
        def __init__(self, inner: Any) -> None:
            self.inner, self.hyper_params = inner, inner.hyper_params
            self.init_param_state, self.init_state = inner.init_param_state, inner.init_state
            self.update_hyper_params = inner.update_hyper_params
            self.apply_gradient = inner.apply_gradient

    params = {"w": jnp.ones((2, 2))}
    around(genuine, Like(genuine.Adam(0.1))).create(params).apply_gradient(params)
    with pytest.raises(TypeError, match=f"Like cannot be in a {whole}: derive it from"):
        around(optim, Like(optim.Adam(0.1)))
    text = GUIDE.read_text()
    for name in ("values", "assign", "normalise"):
        assert f"`{name}`" in text
        assert not hasattr(genuine.OptimizerDef, name)
        mine, theirs = optim.Adam(0.1), genuine.Adam(0.1)
        for definition in (mine, theirs):
            setattr(definition, name, {"of": "its own"})
        theirs.create(params).apply_gradient(params)
        with pytest.raises(TypeError, match="'dict' object is not callable"):
            mine.create(params).apply_gradient(params)


@pytest.mark.parametrize("name", ["Momentum", "LARS"])
def test_gradients_of_numpy_stay_as_they_were(genuine: Any, name: str) -> None:
    for module in (optim, genuine):
        params, grads = {"w": np.ones(3, np.float32)}, {"w": np.ones(3, np.float32)}
        getattr(module, name)(0.1, weight_decay=0.5).create(params).apply_gradient(grads)
        assert np.array_equal(grads["w"], np.ones(3)) is (module is optim)


def test_whole_numbers_become_floats(genuine: Any) -> None:
    params, grads = {"w": jnp.full((2, 2), 3)}, {"w": jnp.ones((2, 2))}
    for module, dtype in ((optim, jnp.float32), (genuine, jnp.int32)):
        moved = module.Adafactor(0.1).create(params).apply_gradient(grads)
        assert moved.target["w"].dtype == dtype
        assert module.Adam(0.1).create(params).apply_gradient(grads).target["w"].dtype == "float32"
    nothing = jax.grad(lambda tree: 3.0 * tree["w"].sum(), allow_int=True)
    step = jax.jit(lambda optimizer: optimizer.apply_gradient(nothing(optimizer.target)))
    stays = step(genuine.Adafactor(0.1).create(params))
    np.testing.assert_array_equal(stays.target["w"], params["w"])
    with pytest.raises(ValueError, match="float0"):
        step(optim.Adafactor(0.1).create(params))
    nowhere = optim.ModelParamTraversal(lambda path, _: False)
    stays = step(optim.Adafactor(0.1).create(params, focus=nowhere))
    np.testing.assert_array_equal(stays.target["w"], params["w"])


def test_multioptimizer_takes_more(genuine: Any) -> None:
    params = {"a": {"w": jnp.ones((2, 2))}, "b": jnp.ones(2)}
    grads = jax.tree.map(jnp.ones_like, params)

    def build(namespace: Any) -> Any:
        inner = namespace.WeightNorm(namespace.Momentum(0.1))
        return namespace.MultiOptimizer((traverse_util.t_identity["a"], inner))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # flax's own traversals warn that they will go
        after = build(optim).create(params).apply_gradient(grads)
        with pytest.raises(Exception):  # noqa: B017, PT011  (an AttributeError of its internals)
            build(genuine).create(params)
        alone = optim.WeightNorm(optim.Momentum(0.1)).create(params["a"])
    np.testing.assert_array_equal(
        after.target["a"]["w"], alone.apply_gradient(grads["a"]).target["w"]
    )


def test_what_a_prompt_shows_of_an_optimizer_is_one_line(genuine: Any) -> None:
    params = {"w": jnp.ones(300)}
    ours, theirs = (repr(each.Adam(0.1).create(params)) for each in (optim, genuine))
    assert len(theirs) > 1000 and "learning_rate" not in theirs
    assert len(ours) < 200 and "learning_rate=0.1" in ours and "300 numbers" in ours


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("GradientDescent", {}),
        ("Momentum", {"nesterov": True, "weight_decay": 0.01}),
        ("Adam", {}),
        ("AdaBelief", {}),
        ("RMSProp", {}),
    ],
)
def test_derivatives_through_steps_differ_in_their_last_places(
    genuine: Any, name: str, more: dict[str, Any], compiled: bool
) -> None:
    inputs = jax.random.normal(jax.random.PRNGKey(1), (8, 4))

    def loss(params: Any) -> Any:
        return jnp.mean((inputs @ params["w"] + params["b"] - 1.0) ** 2)

    def after_three(module: Any, rate: Any, params: Any) -> Any:
        optimizer = getattr(module, name)(learning_rate=rate, **more).create(params)
        for _ in range(3):
            optimizer = optimizer.apply_gradient(jax.grad(loss)(optimizer.target))
        return loss(optimizer.target)

    def derived(module: Any) -> Any:
        function = jax.value_and_grad(functools.partial(after_three, module), argnums=(0, 1))
        first = {"w": jax.random.normal(jax.random.PRNGKey(0), (4, 3)), "b": jnp.zeros(3)}
        return (jax.jit(function) if compiled else function)(0.1, first)

    (mine, (mine_by_rate, mine_by_params)), (theirs, (theirs_by_rate, theirs_by_params)) = (
        derived(optim),
        derived(genuine),
    )
    np.testing.assert_allclose(mine, theirs, rtol=3e-6)
    np.testing.assert_allclose(mine_by_rate, theirs_by_rate, rtol=3e-6)
    # Sums of terms of both signs: measured by the largest of each leaf.
    for key, leaf in theirs_by_params.items():
        np.testing.assert_allclose(
            mine_by_params[key], leaf, rtol=0, atol=3e-6 * float(jnp.max(jnp.abs(leaf)))
        )


def test_outside_jit_a_step_is_compiled() -> None:
    params = {"w": jnp.linspace(0.1, 1.0, 7)}
    optimizer = optim.Adam(0.1).create(params)
    compiled = optimizer.apply_gradient(params)
    with flaxoptim_compat.compiled_steps(False):
        by_kernel = optimizer.apply_gradient(params)
    np.testing.assert_array_equal(compiled.target["w"], by_kernel.target["w"])


def test_the_dict_of_the_module_has_no_optimizers(genuine: Any) -> None:
    assert "LAMB" not in vars(optim) and "LAMB" in vars(genuine)
    assert hasattr(optim, "LAMB") and "LAMB" in dir(optim)
    assert ("LAMB", optim.LAMB) in inspect.getmembers(optim)
    everything: dict[str, Any] = {}
    exec("from flaxoptim_compat.optim import *", everything)
    assert everything["LAMB"] is optim.LAMB


def test_dynamicscale_is_the_one_of_today_s_flax() -> None:
    assert optim.DynamicScale is dynamic_scale.DynamicScale


def test_deprecation_warnings_come_once_for_each_place() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            everything = optim.ModelParamTraversal(lambda path, value: True)
            optim.MultiOptimizer((everything, optim.Adam(0.1))).create({"w": jnp.ones(2)})
    assert len(caught) == 2
    assert {each.category for each in caught} == {flaxoptim_compat.FlaxOptimDeprecationWarning}
