"""What no known mistake explains has no cause."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.parity import Report, compare
from tests.support.options import each
from tests.support.planted_mistakes import GRADS, KERNEL


def compared(first: Any, second: Any, **options: Any) -> Report:
    return compare(first, second, KERNEL, GRADS[id(KERNEL)], **options)


def keys_of(report: Report) -> list[str]:
    assert not report.equal
    return sorted(cause.key for cause in report.causes)


def one_element_off(params: Any, state: Any, grads: Any) -> Any:
    updates, state = optax.adam(0.01).update(grads, state, params)
    params = optax.apply_updates(params, updates)
    nudged = params["kernel"].at[3, 4].multiply(1.0001)
    return {"kernel": jnp.where(state[0].count == 7, nudged, params["kernel"])}, state


def breaking(params: Any, state: Any, grads: Any) -> Any:
    updates, state = optax.adam(0.01).update(grads, state, params)
    params = optax.apply_updates(params, updates)
    return jax.tree.map(lambda p: jnp.where(state[0].count == 6, jnp.nan, p), params), state


def state_only(params: Any, state: Any, grads: Any) -> Any:
    updates, after = optax.sgd(0.01, momentum=0.0).update(grads, state, params)
    trace = jax.tree.map(lambda leaf: 2 * leaf, after[0].trace)
    return optax.apply_updates(params, updates), (after[0]._replace(trace=trace), *after[1:])


UNKNOWN = {
    "another beta1": (optim.Adam(0.01), optax.adam(0.01, b1=0.91)),
    "another rate": (optim.Adam(0.01), optax.adam(0.011)),
    "a tenth of the rate": (optim.Momentum(0.1), optax.sgd(0.01, momentum=0.9)),
    "another optimizer": (optim.Adam(0.01), optax.lion(0.01)),
    "clipped": (
        optim.Momentum(0.01),
        optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(0.01, momentum=0.9)),
    ),
    "one element": (optim.Adam(0.01), (optax.adam(0.01).init, one_element_off)),
    "NaN": (optim.Adam(0.01), (optax.adam(0.01).init, breaking)),
    "the state only": (
        optim.Momentum(0.01, beta=0.0),
        (optax.sgd(0.01, momentum=0.0).init, state_only),
    ),
    "transformations": (optax.adam(0.01), optax.adam(0.01, b1=0.91)),
}


@pytest.mark.parametrize("name", each(UNKNOWN, ["clipped", "NaN", "the state only"]))
def test_what_is_not_known_has_no_cause(name: str) -> None:
    assert keys_of(compared(*UNKNOWN[name])) == []


def test_equal_sides_have_no_cause() -> None:
    report = compared(optim.Adam(0.01, weight_decay=0.1), optax.adamw(0.01, weight_decay=0.1))
    assert report.equal
    assert report.causes == ()


def test_a_single_bit_is_no_known_mistake() -> None:
    # Ours divides by the root in another order: the last bits differ, and no cause explains that.
    adagrad = optax.chain(optax.scale_by_rss(0.0, eps=0.0), optax.scale(-0.01))
    report = compared(optim.Adagrad(0.01, eps=0.0), adagrad, tolerance=0)
    assert keys_of(report) == []


def test_code_that_runs_only_compiled_has_a_report_all_the_same() -> None:
    tx = optax.adam(0.011)

    def step(params: Any, state: Any, grads: Any) -> Any:
        if not isinstance(params["kernel"], jax.core.Tracer):
            raise RuntimeError("not without jit")
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    with pytest.warns(
        RuntimeWarning, match="The search for a cause failed: RuntimeError: not without"
    ):
        report = compared(optim.Adam(0.01), (tx.init, step))
    assert keys_of(report) == []
