"""Outside jit a step is compiled calls, compiled once for all steps of a program."""

from __future__ import annotations

import functools
import gc
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import compiled_steps, optim
from flaxoptim_compat.bridge import compiled
from tests.support import cases
from tests.support.legacy_subclasses import FACTORIES
from tests.support.places import ROOT
from tests.support.processes import output_of
from tests.support.side_by_side import assert_same

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


@pytest.mark.parametrize(
    ("name", "switch"),
    [
        ("Adam-all", jax.disable_jit),
        ("Adam-all", lambda: compiled_steps(False)),
        ("WeightNorm-over_Momentum", lambda: compiled_steps(False)),
        ("MultiOptimizer-two", jax.disable_jit),
    ],
)
def test_steps_can_be_left_uncompiled(
    compilations: Compilations, genuine: Any, name: str, switch: Any
) -> None:
    case = cases.case(name)
    params = jax.tree.map(jnp.asarray, case.parameters())
    results = []
    with switch():
        for space in (optim, genuine):
            optimizer = case.build(space).create(params)
            grads = jax.tree.map(jnp.asarray, cases.gradients(0, params))
            results.append(optimizer.apply_gradient(grads))
    assert compilations.count == 0
    assert_same(*results, ulps=2.0)
    if not name.startswith("WeightNorm"):  # what the genuine calls parameters is its moments
        assert_same(results[0].state, results[1].state)


def test_compiled_steps_nest_and_come_back(compilations: Compilations) -> None:
    optimizer = fresh()(0.1).create(PARAMS)
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


@pytest.mark.parametrize(
    ("value", "expected"), [("0", "0"), pytest.param("1", "1", marks=pytest.mark.exhaustive)]
)
def test_an_environment_variable_switches_them_off_for_a_program(value: str, expected: str) -> None:
    program = (
        "import jax.numpy as jnp; from flaxoptim_compat import optim;"
        "from flaxoptim_compat.bridge import compiled;"
        "optim.Momentum(0.1).create(jnp.ones(3)).apply_gradient(jnp.ones(3));"
        "print(compiled._compiled.cache_info().currsize)"
    )
    size = output_of(["-c", program], ROOT, {"FLAXOPTIM_COMPAT_COMPILED": value})
    assert size.split() == [expected]


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
    steps = {"learning_rate": (50, 50, 100), "beta1": (20, 20, 30)}[name]
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
