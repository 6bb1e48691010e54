"""The stand-ins for modules of jax and flax, each doing what its module did."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec

from flaxoptim_compat import FlaxOptimDeprecationWarning, nn, optim
from flaxoptim_compat.era import (
    flax_deprecated,
    global_device_array,
    host_callback,
    jax_util,
    maps,
    x64_context,
    xla_bridge,
    xla_client,
    xla_extension,
)
from tests.support.vectors import X


def test_flax_deprecated_has_flax_nn() -> None:
    assert flax_deprecated.nn is nn


def test_there_is_no_global_device_array() -> None:
    array = global_device_array.GlobalDeviceArray
    assert not isinstance(X, array)
    for make in (array, array.from_callback):
        with pytest.raises(NotImplementedError, match="make_array_from_callback"):
            make((2,), None, None, None)


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


def test_small_helpers() -> None:
    with pytest.raises(AssertionError, match=r"\[1, 2\]"):
        jax_util.safe_zip([1], [1, 2])
    assert jax_util.unzip3([(1, 2, 3), (4, 5, 6)]) == ((1, 4), (2, 5), (3, 6))
    assert jax_util.concatenate([[1], (2, 3)]) == [1, 2, 3]
    assert jax_util.curry(max)(1)(2, 3) == 3
    assert jax_util.ceil_of_ratio(7, 2) == 4
    assert [jax_util.canonicalize_axis(axis, 3) for axis in (-3, 0, 2)] == [0, 0, 2]
    with pytest.raises(ValueError, match="out of bounds"):
        jax_util.canonicalize_axis(3, 3)
    assert jax_util.tuple_insert((1, 2), 1, 5) == (1, 5, 2)
    assert jax_util.tuple_delete((1, 5, 2), 1) == (1, 2)


def test_a_warning_is_about_the_line_that_calls_the_helper() -> None:
    with pytest.warns(FlaxOptimDeprecationWarning, match="Adam") as shown:
        jax_util.safe_map(optim.Adam, [0.1])
    assert shown[0].filename == __file__


def test_meshes() -> None:
    devices = np.asarray(jax.devices()[:2])
    with warnings.catch_warnings():
        # Of `with mesh:`, which is what it was for.
        warnings.simplefilter("ignore", DeprecationWarning)
        with maps.mesh(devices, ("data",)):
            assert maps.thread_resources.env.physical_mesh.shape == {"data": 2}
            constrained = jax.jit(
                lambda x: jax.lax.with_sharding_constraint(x, PartitionSpec("data"))
            )(X)
    assert len(constrained.addressable_shards) == 2


@pytest.mark.skipif(not hasattr(jax, "enable_x64"), reason="jax.experimental.enable_x64 is there")
def test_64_bit_numbers() -> None:
    @x64_context.enable_x64()
    def wide() -> Any:
        with x64_context.disable_x64():
            narrow = jnp.ones(1).dtype
        return jnp.ones(1).dtype, narrow

    assert wide() == (jnp.float64, jnp.float32)
    with x64_context.enable_x64(False):
        assert jnp.ones(1).dtype == jnp.float32


def test_backends() -> None:
    assert xla_bridge.get_backend().platform == jax.default_backend()
    assert xla_bridge.get_device_backend(jax.devices()[0]).platform == "cpu"
    assert xla_bridge.get_device_backend() is xla_bridge.get_backend()
    assert xla_bridge.device_count() == len(xla_bridge.devices())
    assert (xla_bridge.host_id(), xla_bridge.host_count()) == (0, 1)
    assert xla_bridge.host_ids() == [0]


def test_what_is_an_instance_of_what() -> None:
    device, function = jax.devices("cpu")[0], jax.jit(lambda x: x)
    for value, classes in {
        device: (xla_extension.Device, xla_extension.CpuDevice),
        function: (xla_extension.CompiledFunction, xla_extension.jax_jit.CompiledFunction),
    }.items():
        assert all(isinstance(value, each) for each in classes)
    for array in (xla_extension.DeviceArray, xla_extension.ArrayImpl, xla_client.ArrayImpl):
        assert isinstance(X, array)
    assert not isinstance(device, (xla_extension.GpuDevice, xla_extension.TpuDevice))
    assert not isinstance("cpu", xla_extension.CpuDevice)
    assert not isinstance(lambda x: x, xla_extension.PmapFunction)
    assert xla_extension.CpuDevice.__name__ == "CpuDevice"
    assert jnp.dtype(xla_client.bfloat16) == jnp.bfloat16
    # The rest of the module is jaxlib's own.
    assert xla_extension.jax_jit.PyArgSignature is not None
