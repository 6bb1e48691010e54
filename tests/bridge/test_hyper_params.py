"""Hyper-parameters given with a step, also by scan and vmap; and assigned to a definition.

What is assigned holds from the next call on, compiled or not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import compiled_steps, optim
from tests.support import cases
from tests.support.half_precision import skip_unless_rounded
from tests.support.legacy_subclasses import FACTORIES
from tests.support.options import FAMILIES, each, params
from tests.support.side_by_side import assert_same, ulps

PARAMS = {"w": jnp.linspace(-1.0, 2.0, 24).reshape(4, 6)}
GRADS = [{"w": jnp.cos(1.7 * number + 3.0 * PARAMS["w"])} for number in range(3)]
OPTIMIZERS = sorted({case.optimizer for case in cases.CASES} - {"MultiOptimizer", "WeightNorm"})
# Where the value of the case is None, or makes no difference here.
VALUES = {"clipping_threshold": 0.3, "epsilon2": 5.0}
# What these were at the start decides the shapes of the state, so a call cannot change them.
LASTING = {"factored", "min_dim_size_to_factor", "multiply_by_parameter_scale"}
# The genuine ones branch on these, and so cannot have them traced.
BRANCHES = {("Momentum", "weight_decay"), ("LARS", "weight_decay"), ("LAMB", "weight_decay")}


def definition(namespace: Any, name: str, **changes: Any) -> Any:
    return getattr(namespace, name)(**{**cases.case(f"{name}-default").kwargs, **changes})


def every_override() -> Iterator[tuple[str, str]]:
    for name in OPTIMIZERS:
        for field in dataclasses.fields(definition(optim, name).hyper_params):
            # The state of an RMSProp that is not centered lacks what centering needs.
            if field.name != "centered":
                yield name, field.name


def value_of(name: str, hyper_parameter: str) -> Any:
    return VALUES.get(
        hyper_parameter, cases.case(f"{name}-{hyper_parameter}").kwargs[hyper_parameter]
    )


def after_one_step(namespace: Any, name: str) -> Any:
    return definition(namespace, name).create(PARAMS).apply_gradient(GRADS[0])


def each_form(value: Any, traced: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"Python": value}
    forms = {"Python": value, "numpy": np.asarray(value)[()], "jax": jnp.asarray(value)}
    return {**forms, "numpy float32": np.float32(value), "traced": traced}


@pytest.mark.parametrize(
    ("name", "field"),
    params(
        every_override(), [pair for pair in every_override() if pair[0] in ("Adam", "Adafactor")]
    ),
)
def test_every_hyper_parameter_can_be_overridden_in_every_form(
    genuine: Any, name: str, field: str
) -> None:
    value = value_of(name, field)

    def program(start: Any, grads: Any, traced: Any) -> Any:
        forms = each_form(value, traced)
        if (name, field) in BRANCHES and type(start).__module__.startswith("genuine"):
            forms = dict.fromkeys(forms, value)
        return {
            form: start.apply_gradient(grads, **{field: given})
            for form, given in forms.items()
            if field not in LASTING or form == "Python"
        }

    start = after_one_step(genuine, name)
    # Op by op, since two compiled programs may add up a mean in different orders.
    with compiled_steps(False):
        given, plain = (
            start.apply_gradient(GRADS[1], **override) for override in ({field: value}, {})
        )
    changed = not np.array_equal(given.target["w"], plain.target["w"])
    assert changed == (field not in LASTING)
    theirs = jax.jit(program)(start, GRADS[1], value)
    mine = jax.jit(program)(after_one_step(optim, name), GRADS[1], value)
    bound = max(ulps(name), 1.0)  # a traced rate or decay may be fused with its factor
    for form in theirs:
        assert_same(mine[form], theirs[form], 0.0 if form == "Python" and not ulps(name) else bound)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_outside_jit_all_overrides_at_once(genuine: Any, name: str) -> None:
    fields = [field for owner, field in every_override() if owner == name]
    every = {field: value_of(name, field) for field in fields}
    mine, theirs = (
        after_one_step(space, name).apply_gradient(GRADS[1], **every) for space in (optim, genuine)
    )
    assert_same(mine, theirs, max(ulps(name), 1.0))  # compiled here, op by op there


@pytest.mark.parametrize("name", each(OPTIMIZERS, FAMILIES))
def test_an_override_lasts_for_one_call(genuine: Any, name: str) -> None:
    def program(optimizer: Any) -> Any:
        for grads, overrides in zip(GRADS, ({}, {"learning_rate": 0.5}, {}), strict=True):
            optimizer = optimizer.apply_gradient(grads, **overrides)
        return optimizer

    mine, theirs = (definition(space, name).create(PARAMS) for space in (optim, genuine))
    assert_same(jax.jit(program)(mine), jax.jit(program)(theirs), ulps(name))
    assert mine.optimizer_def == definition(optim, name)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_hyper_params_replaces_them_all(genuine: Any, name: str) -> None:
    results = []
    for space in (optim, genuine):
        other = definition(space, name, learning_rate=0.25).hyper_params

        def program(optimizer: Any, other: Any = other) -> Any:
            whole = optimizer.apply_gradient(GRADS[1], hyper_params=other)
            both = optimizer.apply_gradient(GRADS[1], hyper_params=other, learning_rate=0.7)
            return whole, both

        results.append(jax.jit(program)(after_one_step(space, name)))
    assert_same(*results, ulps(name))


def build_multi(namespace: Any) -> Any:
    traversal = namespace.ModelParamTraversal
    return namespace.MultiOptimizer(
        (traversal(lambda path, value: "a" in path), namespace.Momentum(0.1)),
        (traversal(lambda path, value: "b" in path), namespace.GradientDescent(0.2)),
    )


MULTI_PARAMS = {"a": PARAMS["w"], "b": PARAMS["w"] + 1.0, "c": PARAMS["w"]}


@pytest.mark.parametrize("form", ["list", "replaced list", "broadcast", "both"])
@pytest.mark.parametrize("jit", [True, False], ids=["jit", "outside jit"])
def test_overrides_of_a_multi_optimizer(genuine: Any, form: str, jit: bool) -> None:
    def program(optimizer: Any, rate: Any) -> Any:
        first, second = optimizer.optimizer_def.hyper_params
        changed = [first.replace(learning_rate=rate), second.replace(learning_rate=2 * rate)]
        overrides = {
            "list": {"hyper_params": [first, second]},
            "replaced list": {"hyper_params": changed},
            "broadcast": {"learning_rate": rate},
            "both": {"hyper_params": changed, "learning_rate": rate},
        }
        return optimizer.apply_gradient(MULTI_PARAMS, **overrides[form])

    results = []
    for space in (optim, genuine):
        optimizer = build_multi(space).create(MULTI_PARAMS)
        results.append((jax.jit(program) if jit else program)(optimizer, 0.3))
    # Outside jit, ours is compiled: XLA fuses what the genuine one does op by op.
    assert_same(*results, 0.0 if jit else 1.0)


INTEGERS = [
    ("Adam", {"learning_rate": 1, "beta1": 0, "weight_decay": 0, "eps": 1}),
    ("Adam", {"learning_rate": np.int32(1), "beta2": 0}),
    ("Momentum", {"learning_rate": 1, "beta": 0, "weight_decay": 0}),
    ("Momentum", {"learning_rate": 2, "beta": 1, "weight_decay": 1}),
    ("LAMB", {"learning_rate": 1, "weight_decay": 1, "eps": 1}),
    ("LARS", {"learning_rate": 1, "trust_coefficient": 1, "eps": 0}),
    ("RMSProp", {"learning_rate": 1, "beta2": 0, "eps": 1}),
    ("GradientDescent", {"learning_rate": 1}),
    ("Adafactor", {"learning_rate": 1, "clipping_threshold": 1, "step_offset": 0}),
]


@pytest.mark.parametrize(("name", "values"), INTEGERS)
@pytest.mark.parametrize(
    ("per_call", "jit"),
    [(False, True), (True, True), (True, False)],
    ids=["constructor", "call", "call outside jit"],
)
def test_integers_are_numbers(
    genuine: Any, name: str, values: dict[str, Any], per_call: bool, jit: bool
) -> None:
    overrides = values if per_call else {}
    results = []
    for space in (optim, genuine):
        optimizer = definition(space, name, **({} if per_call else values)).create(PARAMS)
        program = lambda optimizer: optimizer.apply_gradient(GRADS[0], **overrides)
        results.append((jax.jit(program) if jit else program)(optimizer))
    assert_same(*results, ulps(name) if jit else max(ulps(name), 1.0))


@pytest.mark.parametrize("way", ["jit", "compiled", "op by op", "TrainState"])
@pytest.mark.parametrize("name", ["Adagrad", "GradientDescent", "LARS", "Momentum"])
def test_a_rate_is_rounded_to_the_dtype_of_each_parameter(
    genuine: Any, name: str, way: str
) -> None:
    """As in the genuine, where a Python number has no dtype of its own."""
    dtypes = (jnp.bfloat16, jnp.float16, jnp.float32)
    params = {jnp.dtype(each).name: PARAMS["w"].astype(each) for each in dtypes}
    if way in ("compiled", "TrainState"):
        skip_unless_rounded(params)
    if (name, way) == ("GradientDescent", "TrainState") and jax.__version_info__ < (0, 5):
        pytest.skip("this XLA rounds the update and the sum at once in one of the two programs")
    grads = jax.tree.map(jnp.cos, params)
    found = []
    for namespace in (optim, genuine):
        optimizer = getattr(namespace, name)(1.0 + 2**-8).create(params)
        step: Any = lambda optimizer: optimizer.apply_gradient(grads)
        if way == "TrainState" and namespace is optim:
            state = optimizer.to_train_state()
            found.append(jax.jit(lambda state: state.apply_gradients(grads=grads))(state).params)
            continue
        step = jax.jit(step) if way in ("jit", "TrainState") else step
        with compiled_steps(way == "compiled"):
            found.append(step(optimizer).target)
    assert_same(*found)


BOTH = {"w": jnp.linspace(-1.0, 2.0, 24).reshape(4, 6), "b": jnp.linspace(0.5, 1.0, 6)}
OF_BOTH = jax.tree.map(lambda leaf: jnp.cos(3.0 * leaf) + 0.2, BOTH)
RATES = jnp.asarray([0.1, 0.05, 0.2])
# Vectors of rates and scanned ones are fused otherwise than a rate that is built in.
ULPS = 4.0


def create(namespace: Any, name: str, params: Any = BOTH) -> Any:
    return cases.case(f"{name}-default").build(namespace).create(params)


def scan(optimizer: Any, rates: Any, grads: Any = OF_BOTH) -> Any:
    def step(carry: Any, rate: Any) -> tuple[Any, Any]:
        return carry.apply_gradient(grads, learning_rate=rate), carry.state.step

    return jax.lax.scan(step, optimizer, rates)


@pytest.mark.parametrize("name", each(OPTIMIZERS, FAMILIES))
def test_scan_over_a_schedule(genuine: Any, name: str) -> None:
    mine, steps = scan(create(optim, name), RATES)
    theirs, _ = scan(create(genuine, name), RATES)
    assert_same(mine, theirs, ULPS)
    assert steps.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", each(OPTIMIZERS, FAMILIES))
def test_a_vector_of_rates_makes_an_ensemble(genuine: Any, name: str) -> None:
    def step(optimizer: Any, rate: Any) -> Any:
        return optimizer.apply_gradient(OF_BOTH, learning_rate=rate)

    ensemble = jax.jit(jax.vmap(step, in_axes=(None, 0)))
    again = jax.jit(jax.vmap(step))
    mine, theirs = (
        again(ensemble(create(space, name), RATES), RATES) for space in (optim, genuine)
    )
    assert_same(mine, theirs, ULPS)
    for number, rate in enumerate(RATES):
        alone = step(step(create(optim, name), rate), rate)
        assert_same(jax.tree.map(lambda leaf, number=number: leaf[number], mine), alone, ULPS)


@pytest.mark.parametrize("dtype", each([jnp.bfloat16, jnp.float16], [jnp.bfloat16]))
@pytest.mark.parametrize("name", each(OPTIMIZERS, FAMILIES))
def test_a_float32_rate_leaves_half_precision_as_it_is_in_scan(name: str, dtype: Any) -> None:
    # With the genuine one the carry becomes float32, which scan refuses.
    params, grads = (jax.tree.map(lambda leaf: leaf.astype(dtype), x) for x in (BOTH, OF_BOTH))
    before = create(optim, name, params)
    after, _ = scan(before, RATES, grads)
    dtypes = [[leaf.dtype for leaf in jax.tree.leaves(each)] for each in (before, after)]
    assert dtypes[0] == dtypes[1]
    wide, _ = scan(create(optim, name), RATES)
    for half, full in zip(jax.tree.leaves(after.target), jax.tree.leaves(wide.target), strict=True):
        # Three steps, each rounding to the 8 bits of bfloat16 or the 11 of float16.
        bound = 8 * float(jnp.finfo(dtype).eps) * float(jnp.max(jnp.abs(full)))
        np.testing.assert_allclose(half.astype(jnp.float32), full, rtol=0, atol=bound)


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "outside jit"])
@pytest.mark.parametrize("name", ["Adam", "AdaBelief", "LAMB", "RMSProp"])
def test_an_overridden_beta2_is_not_rounded_to_1(genuine: Any, name: str, jit: bool) -> None:
    params, grads = (
        jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), x) for x in (BOTH, OF_BOTH)
    )
    assert float(jnp.asarray(0.999, jnp.bfloat16)) == 1.0
    if not jit:
        skip_unless_rounded(params)

    def moments(namespace: Any) -> Any:
        optimizer = getattr(namespace, name)(0.1, beta2=0.5).create(params)
        step = lambda optimizer: optimizer.apply_gradient(grads, beta2=0.999)
        return (jax.jit(step) if jit else step)(optimizer)

    mine, theirs = moments(optim), moments(genuine)
    assert_same(mine.state, theirs.state, 1.0 if name == "AdaBelief" else 0.0)
    largest = max(float(jnp.max(leaf)) for leaf in jax.tree.leaves(mine.state.param_states))
    assert largest > 0.0
    moved = jax.tree.map(lambda new, old: jnp.any(new != old), mine.target, params)
    assert all(jax.tree.leaves(moved))
    assert all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in jax.tree.leaves(mine.target))


@pytest.mark.parametrize("name", each(OPTIMIZERS, FAMILIES))
def test_gradients_through_steps(genuine: Any, name: str) -> None:
    other = jax.tree.map(lambda leaf: jnp.cos(5 * leaf) + 0.3, BOTH)

    def derivatives(namespace: Any) -> Any:
        optimizer = create(namespace, name)

        def after(rate: Any, grads: Any) -> Any:
            first = optimizer.apply_gradient(grads, learning_rate=rate)
            target = first.apply_gradient(other, learning_rate=rate).target
            return jnp.sum(target["w"] ** 2) + jnp.sum(target["b"] ** 3)

        return jax.jit(jax.grad(after, argnums=(0, 1)))(0.1, OF_BOTH)

    # Derivatives take more roundings than steps.
    assert_same(derivatives(optim), derivatives(genuine), ulps=64.0)


PARTS = {"a": jnp.linspace(-1.0, 2.0, 6).reshape(2, 3), "b": jnp.linspace(0.5, 1.0, 3)}
OF_PARTS = jax.tree.map(jnp.cos, PARTS)


def multi(namespace: Any) -> Any:
    traversal = namespace.ModelParamTraversal
    return namespace.MultiOptimizer(
        (traversal(lambda path, value: "a" in path), namespace.Momentum(0.1)),
        (traversal(lambda path, value: "b" in path), namespace.Momentum(0.2)),
    )


DEFINITIONS: dict[str, Any] = {
    "Adam": lambda namespace: namespace.Adam(0.1),
    "Momentum": lambda namespace: namespace.Momentum(0.1),
    "MultiOptimizer": multi,
    "WeightNorm": lambda namespace: namespace.WeightNorm(namespace.Momentum(0.1)),
    "own code": FACTORIES["own_state"],
}


def assign_rate(definition: Any, rate: Any) -> None:
    definition.hyper_params = definition.hyper_params.replace(learning_rate=rate)


def assign_list(definition: Any, rate: Any) -> None:
    definition.hyper_params = [each.replace(learning_rate=rate) for each in definition.hyper_params]


def assign_in_list(definition: Any, rate: Any) -> None:
    definition.hyper_params[1] = definition.hyper_params[1].replace(learning_rate=rate)


def assign_wrapped(definition: Any, rate: Any) -> None:
    assign_rate(definition.wrapped_optimizer, rate)


ASSIGNMENTS = [
    ("Adam", assign_rate),
    ("Momentum", assign_rate),
    ("own code", assign_rate),
    ("MultiOptimizer", assign_list),
    ("MultiOptimizer", assign_in_list),
    ("WeightNorm", assign_wrapped),
]


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "outside jit"])
@pytest.mark.parametrize(("name", "assign"), ASSIGNMENTS)
def test_an_assignment_holds_from_the_next_call_on(
    genuine: Any, name: str, assign: Any, jit: bool
) -> None:
    results = []
    for space in (optim, genuine):
        step = lambda optimizer: optimizer.apply_gradient(OF_PARTS)
        if jit and space is optim:
            step = jax.jit(step)  # the genuine one would go on with its old trace
        optimizer = DEFINITIONS[name](space).create(PARTS)
        history = []
        for rate in (None, 0.7, 0.03, 0.7):
            if rate is not None:
                assign(optimizer.optimizer_def, rate)
            optimizer = step(optimizer)
            history.append(optimizer.target)
        results.append(history)
    assert_same(*results, ulps=8.0)  # compiled here, op by op there


@pytest.mark.parametrize(("name", "assign"), ASSIGNMENTS)
def test_going_back_to_former_values_needs_no_new_trace(name: str, assign: Any) -> None:
    traces = []

    @jax.jit
    def step(optimizer: Any) -> Any:
        traces.append(None)
        return optimizer.apply_gradient(OF_PARTS)

    optimizer = DEFINITIONS[name](optim).create(PARTS)
    for rate in (0.7, 0.03, 0.7, 0.03, 0.7):
        assign(optimizer.optimizer_def, rate)
        optimizer = step(optimizer)
    assert len(traces) == 2


def test_an_optimizer_that_left_jit_before_an_assignment_obeys_it_after() -> None:
    optimizer = optim.GradientDescent(0.5).create(jnp.zeros(()))
    step = jax.jit(lambda optimizer: optimizer.apply_gradient(jnp.ones(())))
    after = step(optimizer)
    assign_rate(after.optimizer_def, 0.25)
    assert float(step(after).target) == -0.75
    assert float(after.apply_gradient(jnp.ones(())).target) == -0.75
    assign_rate(optimizer.optimizer_def, 4.0)
    assert float(step(optimizer).target) == -4.0


def test_an_array_as_default_rate_is_compared_by_value() -> None:
    traces = []

    @jax.jit
    def step(optimizer: Any) -> Any:
        traces.append(None)
        return optimizer.apply_gradient(jnp.ones(()))

    results = [
        float(step(optim.GradientDescent(jnp.asarray(rate)).create(jnp.zeros(()))).target)
        for rate in (0.5, 0.5, 0.25, np.float32(0.25), 0.5)
    ]
    assert results == [-0.5, -0.5, -0.25, -0.25, -0.5]
    assert len(traces) == 2
