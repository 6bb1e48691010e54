"""Classes of devices and of compiled functions."""

from __future__ import annotations

import jax

from flaxoptim_compat.era import xla_extension


def test_a_device_is_of_one_kind() -> None:
    (device, *_) = jax.devices("cpu")
    assert isinstance(device, xla_extension.CpuDevice)
    assert not isinstance(device, xla_extension.GpuDevice)
    assert not isinstance(device, xla_extension.TpuDevice)
    assert not isinstance("cpu", xla_extension.CpuDevice)
    assert xla_extension.CpuDevice.__name__ == "CpuDevice"


def test_what_jit_returns_is_a_compiled_function() -> None:
    function = jax.jit(lambda x: x)
    assert isinstance(function, xla_extension.CompiledFunction)
    assert isinstance(function, xla_extension.jax_jit.CompiledFunction)
    assert not isinstance(lambda x: x, xla_extension.PmapFunction)
    # The rest of the module is jaxlib's own.
    assert xla_extension.jax_jit.PyArgSignature is not None
