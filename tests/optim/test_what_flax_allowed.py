"""What flax.optim did with arguments and classes that few programs have, beside the genuine one."""

from __future__ import annotations

import collections
import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization

from flaxoptim_compat import compiled_steps, optim
from tests.support.side_by_side import assert_same, ulps

W = jnp.linspace(-1.0, 2.0, 6)
COUNT = {"w": W, "count": jnp.asarray(3, jnp.int32)}
GRADIENTS_OF_A_COUNT = {
    "float0": np.zeros((), jax.dtypes.float0),
    "None": None,
    "another shape": jnp.zeros((2, 7)),
}


def apply(optimizer: Any, grads: Any) -> Any:
    return optimizer.apply_gradient(grads)


def both(module: Any) -> Any:
    """A definition of two parts, for ``w`` and ``b``."""
    of = [
        module.ModelParamTraversal(lambda path, _, name=name: path == f"/{name}") for name in "wb"
    ]
    return module.MultiOptimizer((of[0], module.Adam(0.1)), (of[1], module.Momentum(0.1)))


@pytest.mark.parametrize("how", ["jit", "kernels", "compiled"])
@pytest.mark.parametrize("kind", GRADIENTS_OF_A_COUNT)
def test_what_no_optimizer_moves_may_have_any_gradient(genuine: Any, kind: str, how: str) -> None:
    grads = {"w": W, "count": GRADIENTS_OF_A_COUNT[kind]}
    results = []
    for module in (optim, genuine):
        focus = module.ModelParamTraversal(lambda path, _: path == "/w")
        optimizer = module.Momentum(0.1).create(COUNT, focus=focus)
        step: Callable[[Any], Any] = lambda each: apply(each, grads)
        with compiled_steps(how == "compiled"):
            results.append((jax.jit(step) if how == "jit" else step)(optimizer))
    assert_same(*results)


def test_it_may_be_a_key(genuine: Any) -> None:
    grads = {"w": W, "key": jnp.zeros(())}
    moved = []
    for module in (optim, genuine):
        focus = module.ModelParamTraversal(lambda path, _: path == "/w")
        start = module.Momentum(0.1).create({"w": W, "key": jax.random.key(0)}, focus=focus)
        moved.append(jax.jit(apply)(start, grads).target["w"])
    np.testing.assert_array_equal(*moved)


def test_fields_of_a_subclass_of_optimizer_are_stored(genuine: Any) -> None:
    stored = []
    for module in (optim, genuine):

        class Averaged(module.Optimizer):  # type: ignore[misc, name-defined]
            average: Any = None

        definition = module.Momentum(0.1)
        start = Averaged(definition, definition.init_state({"w": W}), {"w": W}, {"w": 2 * W})
        state = serialization.to_state_dict(start)
        assert sorted(state) == ["average", "state", "target"]
        stored.append(state)
        empty = start.replace(average={"w": 0 * W}, target={"w": 0 * W})
        assert_same(serialization.from_state_dict(empty, state), start)
        del state["average"]
        with pytest.raises(ValueError, match="average"):
            serialization.from_state_dict(empty, state)
        state["average"] = {"w": 2 * W}
    assert_same(*stored)


@pytest.mark.parametrize(
    ("name", "flag"), [("Momentum", "nesterov"), ("LARS", "nesterov"), ("RMSProp", "centered")]
)
@pytest.mark.parametrize("value", [np.array(True), jnp.array(True), jnp.array(False)])
def test_a_flag_may_be_an_array(genuine: Any, name: str, flag: str, value: Any) -> None:
    results = []
    for module in (optim, genuine):
        definition = getattr(module, name)(0.1, **{flag: value})
        optimizer = apply(definition.create({"w": W}), {"w": W})
        results.append(apply(optimizer, {"w": W + 1}).target["w"])
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_a_size_may_be_an_array(genuine: Any) -> None:
    params = {"w": jnp.ones((4, 4))}
    results = [
        apply(module.Adafactor(0.1, min_dim_size_to_factor=jnp.asarray(2)).create(params), params)
        for module in (optim, genuine)
    ]
    np.testing.assert_allclose(results[0].target["w"], results[1].target["w"], rtol=1e-6)


@pytest.mark.parametrize(
    "made",
    [
        lambda several: (each for each in several),
        lambda several: map(copy.copy, several),
        lambda several: dict(enumerate(several)).values(),
        collections.deque,
    ],
)
def test_hyper_params_of_parts_may_be_any_iterable(genuine: Any, made: Any) -> None:
    params = {"w": W, "b": W}
    results = []
    for module in (optim, genuine):
        definition = both(module)
        several = [each.replace(learning_rate=0.2) for each in definition.hyper_params]
        optimizer = definition.create(params)
        results.append(optimizer.apply_gradient(params, hyper_params=made(several)).target)
    assert jax.tree.all(jax.tree.map(lambda a, b: np.allclose(a, b, rtol=1e-6), *results))


def test_a_method_that_one_definition_is_given_is_called(genuine: Any) -> None:
    def halve(step: Any, hyper_params: Any, param: Any, state: Any, grad: Any) -> Any:
        return param / 2, state

    for module in (optim, genuine):
        definition = module.Momentum(0.1)
        definition.apply_param_gradient = halve
        alone = apply(definition.create({"w": W}), {"w": W})
        np.testing.assert_array_equal(alone.target["w"], W / 2)
        inner = module.Momentum(0.1)
        inner.apply_gradient = lambda hyper_params, params, state, grads: (
            jax.tree.map(lambda each: each / 2, params),
            state,
        )
        every = module.ModelParamTraversal(lambda path, _: True)
        several = apply(module.MultiOptimizer((every, inner)).create({"w": W}), {"w": W})
        np.testing.assert_array_equal(several.target["w"], W / 2)


def test_a_definition_may_have_settings_of_its_own(genuine: Any) -> None:
    for module in (optim, genuine):

        class Scaled(module.GradientDescent):  # type: ignore[misc, name-defined]
            def __init__(self, settings: dict[str, float]) -> None:
                super().__init__(settings["rate"])
                self.settings = self.structure = self.override = settings

        optimizer = Scaled({"rate": 0.5}).create({"w": W})
        moved = jax.jit(apply)(jax.jit(apply)(optimizer, {"w": W}), {"w": W})
        np.testing.assert_array_equal(moved.target["w"], W - 0.5 * W - 0.5 * W)


def half(i: Any, exponent: Any = 0.8) -> Any:
    return 0.5


@pytest.mark.parametrize("place", ["class", "assigned to the class", "object"])
def test_an_adafactor_that_overrides_what_is_not_asked_is_refused(genuine: Any, place: str) -> None:
    def late(module: Any) -> Any:
        own = {"_decay_rate_pow": staticmethod(half)} if place == "class" else {}
        kind = type("Late", (module.Adafactor,), own)
        if place == "assigned to the class":
            kind._decay_rate_pow = staticmethod(half)  # type: ignore[attr-defined]
        made = kind(0.1)
        if place == "object":
            made._decay_rate_pow = half
        return made.create({"w": W})

    decayed = apply(late(genuine), {"w": W}).state.param_states["w"].v
    np.testing.assert_allclose(decayed, W * W / 2, rtol=1e-6)
    for step in (apply, jax.jit(apply)):
        with pytest.raises(TypeError, match=r"Late overrides `_decay_rate_pow`\. The Adafactor"):
            step(late(optim), {"w": W})


def test_an_adafactor_with_a_step_of_its_own_may_override_all(genuine: Any) -> None:
    moved = []
    for module in (optim, genuine):

        class Whole(module.Adafactor):  # type: ignore[misc, name-defined]
            def _factored_dims(self, shape: Any) -> Any:
                return None

            def apply_param_gradient(
                self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
            ) -> Any:
                assert self._factored_dims(param.shape) is None
                return param - hyper_params.learning_rate * grad, state

        moved.append(apply(Whole(0.1).create({"w": W}), {"w": W}))
    assert_same(*moved)


def test_a_copy_of_weight_norm_has_hyper_parameters_of_its_own(genuine: Any) -> None:
    for module in (optim, genuine):
        definition = module.WeightNorm(module.Momentum(0.1), wn_decay=0.5)
        other = copy.copy(definition)
        other.hyper_params = other.hyper_params.replace(
            inner=other.hyper_params.inner.replace(learning_rate=0.2)
        )
        rates = [each.hyper_params.inner.learning_rate for each in (definition, other)]
        assert rates == [0.1, 0.2]
        assert definition.hyper_params.wn_decay == other.hyper_params.wn_decay == 0.5


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", ["AdaBelief", "Adam", "LAMB", "Momentum"])
def test_no_dtype_is_promoted_implicitly(genuine: Any, name: str, jitted: bool) -> None:
    params = {"w": W}
    step: Callable[[Any], Any] = lambda optimizer: apply(optimizer, params)
    results = []
    for module in (optim, genuine):
        with jax.numpy_dtype_promotion("strict"):
            optimizer = getattr(module, name)(0.1).create(params)
            results.append((jax.jit(step) if jitted else step)(optimizer))
    assert_same(*results, ulps=ulps(name))


@pytest.mark.parametrize("jitted", [False, True])
def test_clipping_to_nothing_moves_nothing(genuine: Any, jitted: bool) -> None:
    step: Callable[[Any], Any] = lambda optimizer: apply(optimizer, {"w": W})
    for module in (optim, genuine):
        start = module.Adafactor(0.1, clipping_threshold=0.0).create({"w": W})
        moved = (jax.jit(step) if jitted else step)(start)
        np.testing.assert_array_equal(moved.target["w"], W)


@pytest.mark.parametrize("jitted", [False, True])
def test_a_step_may_be_half_done(genuine: Any, jitted: bool) -> None:
    step: Callable[[Any], Any] = lambda optimizer: apply(optimizer, {"w": W})
    results = []
    for module in (optim, genuine):
        start = module.Adam(0.1).create({"w": W})
        start = start.replace(state=start.state.replace(step=2.5))
        results.append((jax.jit(step) if jitted else step)(start))
    np.testing.assert_array_equal([float(each.state.step) for each in results], 3.5)
    assert_same(results[0].target, results[1].target, ulps=ulps("Adam"))


class Settings(NamedTuple):
    learning_rate: Any = 0.1
    beta: float = 0.5
    weight_decay: float = 0.0
    nesterov: bool = True


class Outer(NamedTuple):
    inner: Any
    wn_decay: float = 0.1
    wn_eps: float = 1e-6


@pytest.mark.parametrize(
    "given",
    [
        Settings(),
        type("Attributes", (), Settings()._asdict()),
        SimpleNamespace(**Settings()._asdict()),
    ],
    ids=["named tuple", "class", "namespace"],
)
def test_hyper_params_are_read_by_name(genuine: Any, given: Any) -> None:
    params, results = {"w": W.reshape(3, 2)}, []
    for module in (optim, genuine):
        one = module.Momentum()
        every = module.ModelParamTraversal(lambda path, _: True)
        several = module.MultiOptimizer((every, one))
        normed = module.WeightNorm(one)
        state = normed.init_state(params)
        alone = one.init_param_state(W)
        results.append(
            [
                one.create(params).apply_gradient(params, hyper_params=given).target,
                several.create(params).apply_gradient(params, hyper_params=[given]).target,
                normed.create(params).apply_gradient(params, hyper_params=given).target,
                normed.apply_gradient(Outer(given), params, state, params)[0],
                one.apply_param_gradient(jnp.int32(0), given, W, alone, W)[0],
            ]
        )
    assert_same(*results, ulps=4.0)


def test_named_hyper_params_may_be_traced(genuine: Any) -> None:
    moved = []
    for module in (optim, genuine):
        step: Callable[[Any, Any], Any] = lambda optimizer, rate: optimizer.apply_gradient(
            {"w": W}, hyper_params=Settings(rate)
        )
        moved.append(jax.jit(step)(module.Momentum().create({"w": W}), 0.1))
    assert_same(*moved)
    lacking = SimpleNamespace(learning_rate=0.1, beta=0.9, weight_decay=0.0)
    with pytest.raises(AttributeError, match="nesterov"):
        optim.Momentum().create(W).apply_gradient(W, hyper_params=lacking)
