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
from tests.support.side_by_side import assert_same

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


def test_hyper_params_that_lack_a_name() -> None:
    lacking = SimpleNamespace(learning_rate=0.1, beta=0.9, weight_decay=0.0)
    with pytest.raises(AttributeError, match="nesterov"):
        optim.Momentum().create(W).apply_gradient(W, hyper_params=lacking)


# What programs may do, and what they see of it.


def a_key_that_nothing_moves(module: Any) -> Any:
    focus = module.ModelParamTraversal(lambda path, _: path == "/w")
    start = module.Momentum(0.1).create({"w": W, "key": jax.random.key(0)}, focus=focus)
    return jax.jit(apply)(start, {"w": W, "key": jnp.zeros(())}).target["w"]


def a_flag_that_is_an_array(module: Any) -> Any:
    found = []
    for value in (np.array(True), jnp.array(True), jnp.array(False)):
        for name, flag in (("Momentum", "nesterov"), ("LARS", "nesterov"), ("RMSProp", "centered")):
            optimizer = getattr(module, name)(0.1, **{flag: value}).create({"w": W})
            found.append(apply(apply(optimizer, {"w": W}), {"w": W + 1}).target)
    return found


def a_size_that_is_an_array(module: Any) -> Any:
    params = {"w": jnp.ones((4, 4))}
    definition = module.Adafactor(0.1, min_dim_size_to_factor=jnp.asarray(2))
    return apply(definition.create(params), params).target


def any_iterable_of_hyper_params(module: Any) -> Any:
    params, definition = {"w": W, "b": W}, both(module)
    several = [each.replace(learning_rate=0.2) for each in definition.hyper_params]
    return [
        definition.create(params).apply_gradient(params, hyper_params=made).target
        for made in (
            (each for each in several),
            map(copy.copy, several),
            dict(enumerate(several)).values(),
            collections.deque(several),
        )
    ]


def methods_that_one_definition_is_given(module: Any) -> Any:
    definition, inner = module.Momentum(0.1), module.Momentum(0.1)
    definition.apply_param_gradient = lambda step, hyper_params, param, state, grad: (
        param / 2,
        state,
    )
    inner.apply_gradient = lambda hyper_params, params, state, grads: (
        jax.tree.map(lambda each: each / 4, params),
        state,
    )
    every = module.ModelParamTraversal(lambda path, _: True)
    several = module.MultiOptimizer((every, inner))
    return [apply(each.create({"w": W}), {"w": W}).target for each in (definition, several)]


def settings_of_its_own(module: Any) -> Any:
    class Scaled(module.GradientDescent):  # type: ignore[misc, name-defined]
        def __init__(self, settings: dict[str, float]) -> None:
            super().__init__(settings["rate"])
            self.settings = self.structure = self.override = settings

    optimizer = Scaled({"rate": 0.5}).create({"w": W})
    return jax.jit(apply)(jax.jit(apply)(optimizer, {"w": W}), {"w": W}).target


def an_adafactor_whose_step_is_its_own(module: Any) -> Any:
    class Whole(module.Adafactor):  # type: ignore[misc, name-defined]
        def _factored_dims(self, shape: Any) -> Any:
            return None

        def apply_param_gradient(
            self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
        ) -> Any:
            assert self._factored_dims(param.shape) is None
            return param - hyper_params.learning_rate * grad, state

    return apply(Whole(0.1).create({"w": W}), {"w": W})


def a_copy_of_weight_norm(module: Any) -> Any:
    definition = module.WeightNorm(module.Momentum(0.1), wn_decay=0.5)
    other = copy.copy(definition)
    inner = other.hyper_params.inner.replace(learning_rate=0.2)
    other.hyper_params = other.hyper_params.replace(inner=inner)
    several = [each.hyper_params for each in (definition, other)]
    assert [each.inner.learning_rate for each in several] == [0.1, 0.2]
    return [each.wn_decay for each in several]


def without_promotion(module: Any, *names: str) -> Any:
    with jax.numpy_dtype_promotion("strict"):
        optimizers = [getattr(module, name)(0.1).create({"w": W}) for name in names]
        return [step(each, {"w": W}) for each in optimizers for step in (apply, jax.jit(apply))]


def no_implicit_promotion(module: Any) -> Any:
    return without_promotion(module, "AdaBelief", "Adam", "LAMB")


def no_implicit_promotion_in_momentum(module: Any) -> Any:
    return without_promotion(module, "Momentum")


def clipping_to_nothing(module: Any) -> Any:
    start = module.Adafactor(0.1, clipping_threshold=0.0).create({"w": W})
    found = [step(start, {"w": W}).target for step in (apply, jax.jit(apply))]
    np.testing.assert_array_equal([each["w"] for each in found], [W, W])
    return found


def a_step_that_is_half_done(module: Any) -> Any:
    start = module.Adam(0.1).create({"w": W})
    start = start.replace(state=start.state.replace(step=2.5))
    found = [step(start, {"w": W}) for step in (apply, jax.jit(apply))]
    return [(float(each.state.step), each.target) for each in found]


def named_hyper_params_that_are_traced(module: Any) -> Any:
    def step(optimizer: Any, rate: Any) -> Any:
        return optimizer.apply_gradient({"w": W}, hyper_params=Settings(rate))

    return jax.jit(step)(module.Momentum().create({"w": W}), 0.1)


# Those whose steps are compiled here and run operation by operation there, or fused otherwise.
NEARLY = [
    a_flag_that_is_an_array,
    a_size_that_is_an_array,
    any_iterable_of_hyper_params,
    no_implicit_promotion,
    a_step_that_is_half_done,
]
TO_THE_BIT = [
    a_key_that_nothing_moves,
    methods_that_one_definition_is_given,
    settings_of_its_own,
    an_adafactor_whose_step_is_its_own,
    a_copy_of_weight_norm,
    no_implicit_promotion_in_momentum,
    clipping_to_nothing,
    named_hyper_params_that_are_traced,
]


@pytest.mark.parametrize("program", [*NEARLY, *TO_THE_BIT], ids=lambda program: program.__name__)
def test_programs(genuine: Any, program: Callable[[Any], Any]) -> None:
    assert_same(program(optim), program(genuine), ulps=4.0 if program in NEARLY else 0.0)
