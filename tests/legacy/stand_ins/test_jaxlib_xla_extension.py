"""Classes of devices and of compiled functions."""

from __future__ import annotations

import jax

from flaxoptim_compat.legacy.stand_ins import jaxlib_xla_extension


def test_a_device_is_of_one_kind() -> None:
    (device, *_) = jax.devices("cpu")
    assert isinstance(device, jaxlib_xla_extension.CpuDevice)
    assert not isinstance(device, jaxlib_xla_extension.GpuDevice)
    assert not isinstance(device, jaxlib_xla_extension.TpuDevice)
    assert not isinstance("cpu", jaxlib_xla_extension.CpuDevice)
    assert jaxlib_xla_extension.CpuDevice.__name__ == "CpuDevice"


def test_what_jit_returns_is_a_compiled_function() -> None:
    function = jax.jit(lambda x: x)
    assert isinstance(function, jaxlib_xla_extension.CompiledFunction)
    assert isinstance(function, jaxlib_xla_extension.jax_jit.CompiledFunction)
    assert not isinstance(lambda x: x, jaxlib_xla_extension.PmapFunction)
    # The rest of the module is jaxlib's own.
    assert jaxlib_xla_extension.jax_jit.PyArgSignature is not None
