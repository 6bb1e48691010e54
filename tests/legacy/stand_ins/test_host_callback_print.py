"""What ``host_callback.id_print`` prints."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat.legacy.stand_ins import jax_host_callback


def test_id_print_prints(capfd: pytest.CaptureFixture[str]) -> None:
    jax.jit(lambda x: jax_host_callback.id_print(x, what="x") + 1)(jnp.arange(2))
    jax_host_callback.barrier_wait()
    assert capfd.readouterr().out == "what: x\n[0 1]\n"
