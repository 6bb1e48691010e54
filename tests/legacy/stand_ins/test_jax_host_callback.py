"""Calls from compiled programs to Python."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat.legacy.stand_ins import jax_host_callback
from tests.support.vectors import X


def test_taps_and_calls() -> None:
    seen: list[Any] = []
    tap = lambda value, transforms: seen.append(np.asarray(value).tolist())
    total = jax.pmap(lambda x: jax_host_callback.id_tap(tap, x) * 2)(jnp.arange(4.0))
    jax_host_callback.barrier_wait()
    assert sorted(seen) == [0, 1, 2, 3] and total.tolist() == [0, 2, 4, 6]
    assert jax_host_callback.id_tap(tap, X, result={"a": 1}) == {"a": 1}
    jax_host_callback.call(lambda value: seen.append("called"), X)
    jax_host_callback.barrier_wait()
    assert seen[-1] == "called"
    for wanting in (
        lambda: jax_host_callback.id_tap(tap, X, tap_with_device=True),
        lambda: jax_host_callback.id_print(X, tap_with_device=True),
        lambda: jax_host_callback.call(tap, X, call_with_device=True),
    ):
        with pytest.raises(NotImplementedError, match="device"):
            wanting()
