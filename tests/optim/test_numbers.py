"""Every optimizer with every hyper-parameter, against the genuine flax.optim on the same jax."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import optim
from tests.support import cases, options
from tests.support.beside_genuine import rates, run
from tests.support.options import ONE_EACH, TELLING, each_case_with, each_value, params
from tests.support.tolerances import ALL, tolerance
from tests.support.ulps import LargestValues, errors_in_ulps, worst

STEPS_JIT, STEPS_BY_KERNEL, STEPS_LONG = 20, 4, 1000
# What tells the most in one dtype, compiled, and each optimizer in another one op by op. In float32
# it is compared with the recordings as well, in test_goldens.py.
COMBINATIONS = params(
    (
        *itertools.product(cases.CASES, ALL, ["compiled"]),
        *((*each, "op by op") for each in each_case_with(ALL)),
    ),
    (
        *((*each, "compiled") for each in each_value(TELLING, ALL)),
        *((*each, "op by op") for each in each_value(ONE_EACH, ALL)),
    ),
)
LONG = [case for case in cases.CASES if case.name.endswith(("-default", "-weight_decay", "-two"))]
SOME_LONG = [
    cases.case(name) for name in ("Adam-weight_decay", "LARS-default", "MultiOptimizer-two")
]


@pytest.mark.usefixtures("wide_numbers")
@pytest.mark.parametrize(("case", "dtype", "mode"), COMBINATIONS)
def test_the_numbers_are_the_genuine_ones(
    genuine: Any, case: cases.Case, dtype: str, mode: str
) -> None:
    """In jit with another rate at each step, or op by op with the definition's own rate."""
    jit = mode == "compiled"
    steps = STEPS_JIT if jit else STEPS_BY_KERNEL
    overrides = rates(steps) if jit else None
    runs = run(case, optim, genuine, dtype=dtype, steps=steps, jit=jit, overrides=overrides)
    for kind, found in runs:
        row = tolerance(case.name, dtype, kind)
        moments = row.moments_jit if jit else row.moments
        assert found.params <= row.params * steps**0.5, (kind, row.reason)
        assert found.moments <= moments * steps**0.5, (kind, row.reason)


@pytest.mark.parametrize("case", options.each(LONG, SOME_LONG))
def test_a_thousand_steps(genuine: Any, case: cases.Case) -> None:
    params = jax.tree.map(jnp.asarray, case.parameters())
    random = np.random.RandomState(7)
    scales = jnp.asarray(np.exp(random.normal(size=STEPS_LONG)), jnp.float32)
    shift = jax.tree.map(
        lambda leaf: jnp.asarray(random.normal(size=leaf.shape), jnp.float32), params
    )

    def train(definition: Any) -> Any:
        def step(optimizer: Any, scale: Any) -> Any:
            # Gradients depend on the step alone, so that no error feeds back into them.
            grads = jax.tree.map(lambda each: scale * jnp.sin(each * scale * 9.0), shift)
            optimizer = optimizer.apply_gradient(grads, learning_rate=1e-2)
            return optimizer, optimizer.target

        return jax.jit(lambda optimizer: jax.lax.scan(step, optimizer, scales))(
            definition.create(params)
        )

    (mine, _), (theirs, history) = train(case.build(optim)), train(case.build(genuine))
    sizes = LargestValues(history)
    row = tolerance(case.name, "float32", "varying")
    assert int(mine.state.step) == STEPS_LONG
    error = worst(errors_in_ulps(mine.target, theirs.target, sizes))
    assert error <= row.params * STEPS_LONG**0.5, row.reason
