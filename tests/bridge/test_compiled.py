"""Outside jit a step is compiled calls, compiled once for all steps, wherever its leaves are."""

from __future__ import annotations

import functools
import gc
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import jax_utils

from flaxoptim_compat import compiled_steps, optim
from flaxoptim_compat.bridge import compiled
from tests.support import cases
from tests.support.compiled_steps import gradients, legacy_step
from tests.support.legacy_subclasses import FACTORIES
from tests.support.places import ROOT
from tests.support.processes import output_of
from tests.support.side_by_side import assert_same
from tests.support.training import create

PARAMS = {"w": jnp.linspace(-1.0, 2.0, 24).reshape(4, 6), "b": jnp.linspace(0.5, 1.0, 6)}
GRADS = jax.tree.map(lambda leaf: jnp.cos(3 * leaf), PARAMS)
OPTIMIZERS = sorted({case.optimizer for case in cases.CASES} - {"MultiOptimizer", "WeightNorm"})


class Compilations:
    """How many steps were traced to be compiled since this object was made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._traced = compiled.traced
        monkeypatch.setattr(compiled, "traced", self._counted)

    def _counted(self, *arguments: Any) -> Any:
        self.count += 1
        return self._traced(*arguments)


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Compilations:
    return Compilations(monkeypatch)


def fresh(base: type = optim.Adam) -> Any:
    """A class that no compiled step was ever made for."""
    return type("Fresh", (base,), {})


def train(optimizer: Any, steps: int = 3, **overrides: Any) -> Any:
    for _ in range(steps):
        optimizer = optimizer.apply_gradient(GRADS, **overrides)
    return optimizer


def test_all_steps_are_one_compilation(compilations: Compilations) -> None:
    optimizer = train(fresh()(0.1).create(PARAMS), 1)
    assert compilations.count == 1
    train(optimizer, 10)
    assert compilations.count == 1


def test_a_hundred_rates_are_one_compilation(compilations: Compilations) -> None:
    optimizer = fresh()().create(PARAMS)
    for number in range(100):
        optimizer = optimizer.apply_gradient(GRADS, learning_rate=0.1 / (number + 1))
    assert compilations.count == 1
    optimizer.apply_gradient(GRADS, learning_rate=1)
    optimizer.apply_gradient(GRADS, learning_rate=np.float64(0.1))
    assert compilations.count == 1


@pytest.mark.parametrize("values", [{"eps": 1e-3}, {"weight_decay": 0.1}, {"beta2": 0.5}])
def test_other_default_values_are_another_compilation(
    compilations: Compilations, values: dict[str, float]
) -> None:
    cls = fresh()
    one, other = (train(cls(0.1, **each).create(PARAMS)) for each in ({}, values))
    assert compilations.count == 2
    assert not np.array_equal(one.target["w"], other.target["w"])


def test_an_equal_multi_optimizer_is_no_new_compilation(compilations: Compilations) -> None:
    cls = fresh()

    def make(rate: float) -> Any:
        kernels = optim.ModelParamTraversal(lambda path, value: "w" in path)
        return optim.MultiOptimizer((kernels, cls(rate)))

    for number in range(5):
        make(0.1 * number).create(PARAMS).apply_gradient(GRADS)
    assert compilations.count == 1


def test_compiled_steps_nest_and_come_back(compilations: Compilations) -> None:
    optimizer = fresh()(0.1).create(PARAMS)
    with jax.disable_jit():
        train(optimizer)
    assert compilations.count == 0
    with compiled_steps(False):
        with compiled_steps(True):
            train(optimizer)
            assert compilations.count == 1
        with pytest.raises(ZeroDivisionError), compiled_steps(True):
            raise ZeroDivisionError
        fresh()(0.1).create(PARAMS).apply_gradient(GRADS)
        assert compilations.count == 1
    fresh()(0.1).create(PARAMS).apply_gradient(GRADS)
    assert compilations.count == 2


PROGRAM = """
import jax.numpy as jnp
from flaxoptim_compat import optim
from flaxoptim_compat.bridge import compiled
optimizer = optim.Momentum(0.1).create(jnp.ones(3))
try:
    optimizer.apply_gradient(jnp.ones(()))
except ValueError:
    print("refused")
optimizer.apply_gradient(jnp.ones(3))
print(compiled._compiled.cache_info().currsize)
"""


@pytest.mark.parametrize(
    ("compiled", "strict", "expected"),
    [("0", "1", "refused\n0\n"), pytest.param("1", "0", "1\n", marks=pytest.mark.exhaustive)],
)
def test_environment_variables_switch_compiling_off_and_strictness_on(
    compiled: str, strict: str, expected: str
) -> None:
    variables = {"FLAXOPTIM_COMPAT_COMPILED": compiled, "FLAXOPTIM_COMPAT_STRICT": strict}
    assert output_of(["-W", "ignore", "-c", PROGRAM], ROOT, variables) == expected


@pytest.mark.parametrize("name", ["own_state", "clipped_bfloat16_momentum", "noisy", "projected"])
def test_code_of_the_user_is_never_compiled_unasked(compilations: Compilations, name: str) -> None:
    definition = FACTORIES[name](optim)
    kernels = optim.ModelParamTraversal(lambda path, value: "w" in path)
    if name != "projected":  # which calls the library's own step in its own
        train(definition.create(PARAMS))
        assert compilations.count == 0
    seen: list[bool] = []
    inner = definition.apply_param_gradient

    def spy(step: Any, hyper_params: Any, param: Any, *rest: Any) -> Any:
        seen.append(isinstance(param, jax.core.Tracer))
        return inner(step, hyper_params, param, *rest)

    definition.apply_param_gradient = spy
    train(definition.create(PARAMS), 1)
    train(optim.MultiOptimizer((kernels, definition)).create(PARAMS), 1)
    assert seen == [False] * 3


def test_inside_jit_nothing_is_compiled_apart(compilations: Compilations) -> None:
    optimizer = fresh()(0.1).create(PARAMS)
    jax.jit(train)(optimizer)
    jax.vmap(lambda rate: train(optimizer, learning_rate=rate))(jnp.ones(2))
    jax.grad(lambda rate: jnp.sum(train(optimizer, learning_rate=rate).target["w"]))(0.1)
    assert compilations.count == 0


def test_ever_new_decays_stop_being_compiled(compilations: Compilations, genuine: Any) -> None:
    cls = fresh()
    numbers = [0.9 + 0.001 * n for n in range(compiled.MAX_VARIANTS + 5)]
    results = []
    for definition in (cls(0.1), genuine.Adam(0.1)):
        optimizer = definition.create(PARAMS)
        for number in numbers:
            optimizer = optimizer.apply_gradient(GRADS, beta2=number)
        results.append(optimizer)
    assert compilations.count == compiled.MAX_VARIANTS
    assert_same(*results, ulps=8.0)
    train(cls(0.1).create(PARAMS))
    assert compilations.count == compiled.MAX_VARIANTS + 1


@pytest.mark.parametrize("name", ["learning_rate", "beta1"])
def test_steps_with_a_new_number_each_grow_by_nothing(
    name: str, compilations: Compilations, caplog: pytest.LogCaptureFixture
) -> None:
    # The first of them fill caches; with ever new decays the last ones are not compiled any more.
    steps = {"learning_rate": (20, 20, 40), "beta1": (20, 20, 30)}[name]
    optimizer = fresh()(0.1).create(PARAMS)
    alive, compiled_since = [], [""]
    for count in steps:
        caplog.clear()
        with jax.log_compiles():
            for _ in range(count):
                overrides = {name: 0.4 + 1e-4 * int(optimizer.state.step)}
                optimizer = optimizer.apply_gradient(GRADS, **overrides)
        compiled_since = [record.getMessage() for record in caplog.records]
        caplog.clear()
        gc.collect()
        alive.append((len(gc.get_objects()), len(jax.live_arrays())))
    assert compiled_since == []
    assert alive[2] <= alive[1], alive
    assert compilations.count == {"learning_rate": 1, "beta1": compiled.MAX_VARIANTS}[name]
    assert int(optimizer.state.step) == sum(steps)


def test_definitions_that_come_and_go_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    few = 8
    for name in ("_compiled", "_division"):
        bounded = getattr(compiled, name)
        assert bounded.cache_info().maxsize == compiled.MAX_STEPS
        # In the same way, but full sooner.
        kept = functools.lru_cache(maxsize=few)(bounded.__wrapped__)
        monkeypatch.setattr(compiled, name, kept)
    alive = []
    for number in range(few + 5):
        definition = optim.Momentum(0.1, beta=number / 1000)
        definition.create(jnp.ones(())).apply_gradient(jnp.ones(()))
        alive.append(weakref.ref(definition))
        del definition
    gc.collect()
    assert sum(each() is not None for each in alive) <= few
    assert [each() for each in alive[:5]] == [None] * 5


def test_more_definitions_with_other_rates_than_are_kept_are_one_compilation(
    compilations: Compilations,
) -> None:
    cls = fresh(optim.GradientDescent)
    optimizer = cls(0.1).create(jnp.zeros(()))
    kept = compiled._division.cache_info().currsize
    definitions = 4 * compiled.MAX_STEPS
    for number in range(definitions):
        optimizer = optimizer.replace(optimizer_def=cls(1e-4 * number))
        optimizer = optimizer.apply_gradient(jnp.ones(()))
    assert compilations.count == 1
    assert compiled._division.cache_info().currsize <= kept + 1
    assert int(optimizer.state.step) == definitions


SOME = ["Adam-all", "Adafactor-all", "WeightNorm-over_Momentum", "MultiOptimizer-two"]


def device_of(array: jax.Array) -> jax.Device:
    """The one device that holds it: before jax 0.4.31 an array does not say so by itself."""
    (device,) = array.devices()
    return device


W, B = jnp.linspace(-1.0, 2.0, 24).reshape(4, 6), jnp.linspace(0.5, 1.0, 6)


def test_device_put_moves_all_leaves() -> None:
    device = jax.devices()[2]
    optimizer = jax.device_put(create(cases.case("Adam-all"), optim), device)
    after = legacy_step(optimizer, jax.device_put(gradients(optimizer.target, 0), device))
    assert {device_of(leaf) for leaf in jax.tree.leaves((optimizer, after))} == {device}


@pytest.mark.parametrize("name", ["Adam-all", "MultiOptimizer-two"])
def test_replicated_training_equals_the_genuine(genuine: Any, name: str) -> None:
    def step(optimizer: Any, scale: Any) -> Any:
        grads = jax.tree.map(lambda leaf: scale * leaf, gradients_of_target)
        return optimizer.apply_gradient(jax.lax.pmean(grads, "batch"))

    case = cases.case(name)
    gradients_of_target = gradients(case.parameters(), 0)
    results = []
    for namespace in (optim, genuine):
        optimizer = jax_utils.replicate(create(case, namespace), jax.devices()[:4])
        assert optimizer.state.step.shape == (4,)
        train = jax.pmap(step, axis_name="batch")
        for _ in range(2):
            optimizer = train(optimizer, jnp.arange(4.0))
        results.append(jax_utils.unreplicate(optimizer))
        assert results[-1].state.step.shape == ()
    assert_same(*results, ulps=4.0)


@pytest.mark.parametrize("name", ["Adam", "Momentum", "LAMB", "MultiOptimizer"])
def test_leaves_on_different_devices_stay_where_they_are(genuine: Any, name: str) -> None:
    params = {
        "w": jax.device_put(W, jax.devices()[1]),
        "b": jax.device_put(B, jax.devices()[2]),
        "c": jax.device_put(B + 1.0, jax.devices()[1]),
    }
    results = []
    for space in (optim, genuine):
        if name == "MultiOptimizer":
            some = space.ModelParamTraversal(lambda path, value: path != "/c")
            definition = space.MultiOptimizer((some, space.Adam(0.1)))
        else:
            definition = cases.case(f"{name}-all").build(space)
        optimizer = definition.create(params)
        for _ in range(2):
            optimizer = optimizer.apply_gradient(params)
        results.append(optimizer)
    mine = results[0]
    assert jax.tree.map(device_of, mine.target) == jax.tree.map(device_of, params)
    for moment in jax.tree.leaves(mine.state.param_states["w"]):
        assert device_of(moment) == jax.devices()[1]
    assert_same(*results, ulps=2.0)
