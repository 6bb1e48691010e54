"""Loops of jax that were written as loops of Python."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat.legacy.stand_ins import jax_loops


def scope() -> Any:
    return jax_loops.Scope()


def sums(x: Any) -> Any:
    with scope() as s:
        s.total, s.last = x, {"i": 0}
        for i in s.range(1, 8, 2):
            s.total += i
            s.last = {"i": i}
        for _ in s.cond_range(s.last["i"] > 5 if not isinstance(x, jax.core.Tracer) else True):
            s.total *= 2.0
        for _ in s.cond_range(False):
            s.total = -1.0
        return s.total, s.last


def halvings(x: float) -> Any:
    with scope() as s:
        s.x, s.n = x, 0
        for _ in s.while_range(lambda: s.x > 1.0):
            s.x, s.n = s.x / 2, s.n + 1
    return s.n


def test_they_compute_what_they_say() -> None:
    for function in (sums, jax.jit(sums)):
        total, last = function(1.0)
        assert float(total) == 34.0 and int(last["i"]) == 7
        assert total.dtype == jnp.float32 and last["i"].dtype == jnp.int32
    assert int(halvings(10.0)) == 4 and isinstance(halvings(0.5), jax.Array)
    assert float(jax.grad(lambda x: sums(x)[0])(1.0)) == 2.0


def test_a_range_from_zero_and_one_of_no_rounds() -> None:
    with scope() as s:
        s.seen = 0.0
        for _ in s.range(3):
            s.seen += 1
        for _ in s.range(0):
            s.seen = -1.0
        assert float(s.seen) == 3.0


def test_under_jit_a_condition_must_be_known() -> None:
    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        jax.jit(halvings)(10.0)
    # Before Python 3.11 an error has no notes beside its message.
    notes = getattr(caught.value, "__notes__", [str(caught.value)])
    assert "jax.lax.while_loop" in notes[0]
