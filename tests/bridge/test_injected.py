"""Learning rates that scan, vmap and pmap bring, and half precision under overrides."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import jax_utils

from flaxoptim_compat import optim
from tests.support import cases
from tests.support.half_precision import skip_unless_rounded
from tests.support.options import FAMILIES, each
from tests.support.side_by_side import assert_same

PARAMS = {"w": jnp.linspace(-1.0, 2.0, 24).reshape(4, 6), "b": jnp.linspace(0.5, 1.0, 6)}
GRADS = jax.tree.map(lambda leaf: jnp.cos(3.0 * leaf) + 0.2, PARAMS)
RATES = jnp.asarray([0.1, 0.05, 0.2])
OPTIMIZERS = sorted({case.optimizer for case in cases.CASES} - {"MultiOptimizer", "WeightNorm"})
# Vectors of rates and scanned ones are fused otherwise than a rate that is built in.
ULPS = 4.0


def create(namespace: Any, name: str, params: Any = PARAMS) -> Any:
    return cases.case(f"{name}-default").build(namespace).create(params)


def scan(optimizer: Any, rates: Any, grads: Any = GRADS) -> Any:
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
        return optimizer.apply_gradient(GRADS, learning_rate=rate)

    ensemble = jax.jit(jax.vmap(step, in_axes=(None, 0)))
    again = jax.jit(jax.vmap(step))
    mine, theirs = (
        again(ensemble(create(space, name), RATES), RATES) for space in (optim, genuine)
    )
    assert_same(mine, theirs, ULPS)
    for number, rate in enumerate(RATES):
        alone = step(step(create(optim, name), rate), rate)
        assert_same(jax.tree.map(lambda leaf, number=number: leaf[number], mine), alone, ULPS)


@pytest.mark.parametrize("name", ["Adam", "Momentum", "LAMB", "Adafactor"])
def test_pmap_with_a_rate_for_every_device(genuine: Any, name: str) -> None:
    devices = jax.devices()[:4]
    rates = jnp.asarray([0.1, 0.1, 0.1, 0.3])
    factors = jnp.arange(1.0, 5.0)

    def step(optimizer: Any, factor: Any, rate: Any) -> Any:
        grads = jax.tree.map(lambda leaf: factor * leaf, GRADS)
        return optimizer.apply_gradient(jax.lax.pmean(grads, "batch"), learning_rate=rate)

    results = [
        jax.pmap(step, axis_name="batch", devices=devices)(
            jax_utils.replicate(create(space, name), devices), factors, rates
        )
        for space in (optim, genuine)
    ]
    assert_same(*results, ULPS)
    target = np.asarray(results[0].target["w"])
    np.testing.assert_array_equal(target[0], target[2])
    assert not np.array_equal(target[0], target[3])


@pytest.mark.parametrize("dtype", each([jnp.bfloat16, jnp.float16], [jnp.bfloat16]))
@pytest.mark.parametrize("name", each(OPTIMIZERS, FAMILIES))
def test_a_float32_rate_leaves_half_precision_as_it_is_in_scan(name: str, dtype: Any) -> None:
    # With the genuine one the carry becomes float32, which scan refuses.
    params, grads = (jax.tree.map(lambda leaf: leaf.astype(dtype), x) for x in (PARAMS, GRADS))
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
        jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), x) for x in (PARAMS, GRADS)
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
    other = jax.tree.map(lambda leaf: jnp.cos(5 * leaf) + 0.3, PARAMS)

    def derivatives(namespace: Any) -> Any:
        optimizer = create(namespace, name)

        def after(rate: Any, grads: Any) -> Any:
            first = optimizer.apply_gradient(grads, learning_rate=rate)
            target = first.apply_gradient(other, learning_rate=rate).target
            return jnp.sum(target["w"] ** 2) + jnp.sum(target["b"] ** 3)

        return jax.jit(jax.grad(after, argnums=(0, 1)))(0.1, GRADS)

    # Derivatives take more roundings than steps.
    assert_same(derivatives(optim), derivatives(genuine), ulps=64.0)
