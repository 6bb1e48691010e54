"""Calls from compiled programs to Python."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat.era import host_callback
from tests.support.vectors import X


def test_taps_and_calls() -> None:
    seen: list[Any] = []
    tap = lambda value, transforms: seen.append(np.asarray(value).tolist())
    total = jax.pmap(lambda x: host_callback.id_tap(tap, x) * 2)(jnp.arange(4.0))
    host_callback.barrier_wait()
    assert sorted(seen) == [0, 1, 2, 3] and total.tolist() == [0, 2, 4, 6]
    assert host_callback.id_tap(tap, X, result={"a": 1}) == {"a": 1}
    host_callback.call(lambda value: seen.append("called"), X)
    host_callback.barrier_wait()
    assert seen[-1] == "called"
    for wanting in (
        lambda: host_callback.id_tap(tap, X, tap_with_device=True),
        lambda: host_callback.id_print(X, tap_with_device=True),
        lambda: host_callback.call(tap, X, call_with_device=True),
    ):
        with pytest.raises(NotImplementedError, match="device"):
            wanting()


def test_id_print_prints(capfd: pytest.CaptureFixture[str]) -> None:
    jax.jit(lambda x: host_callback.id_print(x, what="x") + 1)(jnp.arange(2))
    host_callback.barrier_wait()
    assert capfd.readouterr().out == "what: x\n[0 1]\n"
