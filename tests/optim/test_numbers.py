"""Every optimizer with every hyper-parameter, against the genuine flax.optim on the same jax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import optim
from tests.support import cases
from tests.support.beside_genuine import rates, run
from tests.support.tolerances import ALL, tolerance
from tests.support.ulps import LargestValues, errors_in_ulps, worst

STEPS_JIT, STEPS_BY_KERNEL, STEPS_LONG = 20, 4, 1000
CASES = [pytest.param(case, id=case.name) for case in cases.CASES]


@pytest.fixture(params=ALL)
def dtype(request: pytest.FixtureRequest) -> Iterator[str]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param == "float64")
    yield request.param
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("case", CASES)
def test_compiled(genuine: Any, case: cases.Case, dtype: str) -> None:
    """In jit, with another learning rate at each step."""
    steps = STEPS_JIT
    runs = run(case, optim, genuine, dtype=dtype, steps=steps, jit=True, overrides=rates(steps))
    for kind, found in runs:
        row = tolerance(case.name, dtype, kind)
        assert found.params <= row.params * steps**0.5, (kind, row.reason)
        assert found.moments <= row.moments_jit * steps**0.5, (kind, row.reason)


@pytest.mark.parametrize("case", CASES)
def test_op_by_op(genuine: Any, case: cases.Case, dtype: str) -> None:
    """One operation after the other, with the definition's own learning rate."""
    steps = STEPS_BY_KERNEL
    for kind, found in run(case, optim, genuine, dtype=dtype, steps=steps, jit=False):
        row = tolerance(case.name, dtype, kind)
        assert found.params <= row.params * steps**0.5, (kind, row.reason)
        assert found.moments <= row.moments * steps**0.5, (kind, row.reason)


@pytest.mark.parametrize(
    "case", [each for each in CASES if str(each.id).endswith(("-default", "-weight_decay", "-two"))]
)
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
