"""What optax_source and the warning of a definition say does what the definition does.

In float32 and float64 the parameters are the same to the bit, op by op and in jit: the functions
that the text names are those that the definition runs. In half precision they are not, because
optax rounds a product with a Python number to the parameter's dtype, and the definition does not.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import jax_utils
from flax.core import freeze

from flaxoptim_compat import compiled_steps, optax_source, optim, transforms
from tests.support import cases
from tests.support.options import ONE_EACH, each
from tests.support.options import params as combinations
from tests.support.side_by_side import assert_same, bits

STEPS = 4
RATES = [0.05, 0.1, 0.02, 0.3]
MODES = ("jit", "op by op")
both_modes = pytest.mark.parametrize("jit", [True, False], ids=MODES)


def replacement(definition: Any, labels: Any = None, **names: Any) -> Any:
    """The optax transformation that the text describes."""
    known = {"optax": optax, "jnp": jnp, "transforms": transforms, "labels": labels}
    return eval(definition.optax_expression(), known | names)


def from_source(definition: Any, params: Any) -> Any:
    """The optax transformation that the source text makes, in a program of its own."""
    program: dict[str, Any] = {}
    exec(optax_source(definition, params), program)
    return program["tx"]


def assert_same_steps(
    definition: Any,
    tx: Any,
    params: Any,
    *,
    jit: bool,
    kinds: Sequence[str] = ("varying",),
    rates: Sequence[float] | None = None,
    ulps: float = 0.0,
) -> None:
    """Train with both from the start, for each kind of gradients, and compare after each step."""

    def legacy_step(optimizer: Any, grads: Any, **override: Any) -> Any:
        return optimizer.apply_gradient(grads, **override)

    def optax_step(params: Any, state: Any, grads: Any) -> tuple[Any, Any]:
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    start = jax.tree.map(jnp.asarray, params)
    if jit:
        legacy_step, optax_step = jax.jit(legacy_step), jax.jit(optax_step)
    with contextlib.nullcontext() if jit else compiled_steps(False):
        for kind in kinds:
            params, optimizer, state = start, definition.create(start), tx.init(start)
            for number in range(STEPS):
                override = {}
                if rates is not None:
                    state = optax.tree_utils.tree_set(state, learning_rate=rates[number])
                    override = {"learning_rate": rates[number]}
                leaves = jax.tree.leaves(cases.gradients(number, params, kind))
                grads = jax.tree.unflatten(jax.tree.structure(params), map(jnp.asarray, leaves))
                optimizer = legacy_step(optimizer, grads, **override)
                params, state = optax_step(params, state, grads)
                assert_same(params, optimizer.target, ulps)


@pytest.mark.parametrize(
    ("case", "mode"),
    combinations(
        itertools.product(cases.CASES, MODES),
        itertools.product(ONE_EACH, MODES),
    ),
)
def test_the_same_steps(case: cases.Case, mode: str) -> None:
    definition, parameters = case.build(optim), case.parameters()
    tx = from_source(definition, parameters)
    kinds = cases.GRADIENT_KINDS
    assert_same_steps(definition, tx, parameters, jit=mode == "jit", kinds=kinds)


SOME = each(
    [case for case in cases.CASES if case.name.endswith(("-all", "-all_factored", "-two"))],
    [cases.case(name) for name in ("Adam-all", "Adafactor-all_factored", "MultiOptimizer-two")],
)


@pytest.mark.usefixtures("wide_numbers")
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize("case", SOME)
def test_the_same_steps_in_other_precisions(case: cases.Case, dtype: str) -> None:
    definition, params = case.build(optim), case.parameters(dtype=dtype)
    tx = from_source(definition, params)
    # In half precision one or two roundings at every step, as in tests/support/tolerances.py.
    ulps = 0.0 if dtype == "float64" else 1.5 * STEPS**0.5
    assert_same_steps(definition, tx, params, jit=True, ulps=ulps)


@both_modes
@pytest.mark.parametrize("case", SOME)
def test_a_rate_that_is_given_with_each_step(case: cases.Case, jit: bool) -> None:
    definition, params = case.without_rate().build(optim), case.parameters()
    tx = from_source(definition, params)
    found = optax.tree_utils.tree_get_all_with_path(tx.init(params), "learning_rate")
    assert len(found) == max(1, len(case.inner) * (case.optimizer == "MultiOptimizer"))
    assert_same_steps(definition, tx, params, jit=jit, rates=RATES)


@both_modes
def test_one_missing_rate_makes_all_rates_of_a_multi_optimizer_settable(jit: bool) -> None:
    # Just as apply_gradient(learning_rate=...) gives every optimizer this rate.
    case = cases.case("MultiOptimizer-two")
    first = case.inner[0].without_rate()
    case = cases.Case("", case.optimizer, {}, (first, case.inner[1]), case.selectors)
    definition, params = case.build(optim), case.parameters()
    tx = from_source(definition, params)
    assert_same_steps(definition, tx, params, jit=jit, rates=RATES)


@both_modes
@pytest.mark.parametrize("name", ["Adam-all", "AdaBelief-all", "Momentum-all", "RMSProp-beta2"])
def test_hyper_params_that_are_arrays(name: str, jit: bool) -> None:
    case = cases.case(name)
    arrays = {
        key: value if isinstance(value, bool) else jnp.asarray(value, jnp.float32)
        for key, value in case.kwargs.items()
    }
    definition = getattr(optim, case.optimizer)(**arrays)
    assert_same_steps(definition, replacement(definition), case.parameters(), jit=jit)


def test_hyper_params_without_one_value_are_left_to_the_program() -> None:
    @jax.jit
    def train(rate: Any) -> Any:
        definition = optim.Adam(rate, weight_decay=0.1)
        assert definition.optax_expression() == (
            "optax.adamw(learning_rate, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.1)"
        )
        tx = replacement(definition, learning_rate=rate)
        params = {"w": jnp.linspace(-1.0, 1.0, 5)}
        after = definition.create(params).apply_gradient(params).target
        return after, optax.apply_updates(params, tx.update(params, tx.init(params), params)[0])

    assert_same(*train(0.1))
    decays = jnp.linspace(0.1, 0.3, 5)
    definition = optim.Momentum(0.1, weight_decay=decays)
    chain = "optax.chain(optax.add_decayed_weights(weight_decay), optax.sgd(0.1, momentum=0.9))"
    assert definition.optax_expression() == chain


@both_modes
@pytest.mark.parametrize("name", ["Adam-all", "Adafactor-all", "MultiOptimizer-two"])
def test_frozen_dicts(name: str, jit: bool) -> None:
    case = cases.case(name)
    definition, params = case.build(optim), freeze(case.parameters())
    assert_same_steps(definition, from_source(definition, params), params, jit=jit)


def under(prefix: str) -> Any:
    return optim.ModelParamTraversal(lambda path, value: path.startswith(prefix))


@both_modes
@pytest.mark.parametrize("rates", [None, RATES], ids=["own rates", "given rates"])
def test_nested_definitions(jit: bool, rates: Any) -> None:
    rate = None if rates else 0.05
    inner = optim.MultiOptimizer(
        (under("/dense/bias"), optim.Adagrad(rate)),
        (under("/dense/kernel"), optim.WeightNorm(optim.Adam(rate), wn_decay=0.1)),
    )
    definition = optim.MultiOptimizer((under("/conv"), optim.LAMB(rate)), (under("/dense"), inner))
    params = cases.parameters()
    labels = jax.tree.map(lambda leaf: "frozen", params)
    labels["conv"]["kernel"] = "part_0"
    labels["dense"] = {"bias": "part_1.part_0", "kernel": "part_1.part_1"}
    tx = replacement(definition, labels)
    assert_same_steps(definition, tx, params, jit=jit, rates=rates)
    # Labels may be a function of the parameters as well.
    tx = replacement(definition, lambda tree: labels)
    assert_same_steps(definition, tx, params, jit=jit, rates=rates)


def test_what_no_traversal_selects_keeps_its_bits() -> None:
    frozen = jnp.asarray(np.array([-0.0, np.nan, np.inf, 1e-45], np.float32))
    params = {"frozen": frozen, "w": jnp.ones(3)}
    definition = optim.MultiOptimizer((under("/w"), optim.Adam(0.1)))
    tx = replacement(definition, {"frozen": "frozen", "w": "part_0"})
    state = tx.init(params)
    assert [leaf.shape for leaf in jax.tree.leaves(state)].count(frozen.shape) == 0
    grads = {"frozen": jnp.full(4, jnp.nan), "w": params["w"]}
    step = lambda params: optax.apply_updates(params, tx.update(grads, state, params)[0])
    assert bits(jax.jit(step)(params)["frozen"]) == bits(frozen)


def test_replicating_without_replicate() -> None:
    optimizer = optim.Momentum(0.1).create({"w": jnp.linspace(-1.0, 1.0, 5)})
    step = functools.partial(jax.pmap, axis_name="batch")
    grads = {"w": jnp.arange(8 * 5.0).reshape(8, 5)}
    old = step(lambda each, grads: each.apply_gradient(grads))(optimizer.replicate(), grads)
    new = step(lambda each, grads: each.apply_gradient(jax.lax.pmean(grads, axis_name="batch")))(
        jax_utils.replicate(optimizer), grads
    )
    assert_same(new, old)
