"""The module ``jaxlib.xla_extension``, from which programs took types and errors."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import jax
from jaxlib import xla_client

from flaxoptim_compat.versions.of_jax import runtime_error


class _OfPlatform(type):
    """A class whose instances are the devices of one kind."""

    platforms: frozenset[str]

    def __new__(cls, name: str, *platforms: str) -> _OfPlatform:
        return super().__new__(cls, name, (), {"platforms": frozenset(platforms)})

    def __init__(cls, name: str, *platforms: str) -> None:
        super().__init__(name, (), {})

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, jax.Device) and instance.platform in cls.platforms


XlaRuntimeError = runtime_error()
Device = jax.Device
CpuDevice = _OfPlatform("CpuDevice", "cpu")
GpuDevice = _OfPlatform("GpuDevice", "gpu", "cuda", "rocm")
TpuDevice = _OfPlatform("TpuDevice", "tpu")
DeviceArray = jax.Array
# The type of the results of jax.jit and jax.pmap.
CompiledFunction = PmapFunction = type(jax.jit(lambda: None))

__all__ = [
    "CompiledFunction",
    "CpuDevice",
    "Device",
    "DeviceArray",
    "GpuDevice",
    "PmapFunction",
    "TpuDevice",
    "XlaRuntimeError",
    "jax_jit",
]


# The module with the remaining names, whose own name differs between versions.
_compiled: Any = vars(xla_client)["_xla"]


class _JaxJit(ModuleType):
    """The module ``jax_jit``, which had the class of compiled functions."""

    CompiledFunction = CompiledFunction

    def __getattr__(self, name: str) -> Any:
        return getattr(_compiled.jax_jit, name)


jax_jit = _JaxJit("jaxlib.xla_extension.jax_jit")


def __getattr__(name: str) -> Any:
    return getattr(_compiled, name)
