"""The same gradients through ours and the genuine optimizer, and the errors that result."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from flaxoptim_compat import compiled_steps
from tests.support import cases
from tests.support.ulps import LargestValues, errors_in_ulps, worst


class Errors(NamedTuple):
    """The worst error of any parameter and of any moment, in units in the last place."""

    params: float
    moments: float


def rates(steps: int) -> list[float]:
    """A learning rate for every step, no two in a row alike."""
    return [cases.LEARNING_RATE * (1.0 + 0.5 * (-1) ** step / (1 + step)) for step in range(steps)]


def op_by_op(case: cases.Case) -> contextlib.AbstractContextManager[None]:
    """Run each operation by itself, as it is outside ``jit``."""
    # Optax compiles some of its own functions, such as the correction of Adam's averages, which may
    # round otherwise. Where parameters stand in the state, that would show.
    return jax.disable_jit() if case.optimizer == "WeightNorm" else compiled_steps(False)


def run(
    case: cases.Case,
    ours: Any,
    genuine: Any,
    *,
    dtype: str,
    steps: int,
    jit: bool,
    overrides: Sequence[float] | None = None,
) -> Iterator[tuple[str, Errors]]:
    """Train both for some steps on each kind of gradients, and compare them at the end.

    The overrides are a learning rate for every step.
    """
    params = jax.tree.map(jnp.asarray, case.parameters(dtype=dtype))
    starts = case.build(ours).create(params), case.build(genuine).create(params)

    def step(optimizer: Any, grads: Any, **override: Any) -> Any:
        return optimizer.apply_gradient(grads, **override)

    step = jax.jit(step) if jit else step
    # What is compiled takes arrays of numpy as they are; op by op, numpy would add and multiply.
    given = (lambda grads: grads) if jit else (lambda grads: jax.tree.map(jnp.asarray, grads))
    for kind in cases.GRADIENT_KINDS:
        mine, theirs = starts
        sizes = LargestValues(theirs.target), LargestValues(theirs.state)
        with contextlib.nullcontext() if jit else op_by_op(case):
            for number in range(steps):
                grads = given(cases.gradients(number, params, kind))
                override = {} if overrides is None else {"learning_rate": overrides[number]}
                mine, theirs = step(mine, grads, **override), step(theirs, grads, **override)
                sizes[0].add(theirs.target)
                sizes[1].add(theirs.state)
        yield (
            kind,
            Errors(
                worst(errors_in_ulps(mine.target, theirs.target, sizes[0])),
                worst(errors_in_ulps(mine.state, theirs.state, sizes[1])),
            ),
        )
