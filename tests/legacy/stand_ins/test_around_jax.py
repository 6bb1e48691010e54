"""What stands in for modules around jax: XLA, devices, callbacks and tests."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec

from flaxoptim_compat.legacy.stand_ins import (
    jax_config,
    jax_global_device_array,
    jax_host_callback,
    jax_maps,
    jax_test_case,
    jax_test_util,
    jax_xla_bridge,
    jax_xla_client,
    jax_xla_computation,
    jaxlib_xla_extension,
)

X = jnp.linspace(0.5, 2.0, 4)


def test_xla_computation() -> None:
    lowered = jax_xla_computation.xla_computation(
        lambda x, n: (x * n).sum(), static_argnums=1, backend="cpu"
    )(X, 3)
    assert "HloModule" in lowered.as_hlo_text()
    analysis = jax_xla_client._xla.hlo_module_cost_analysis(
        jax_xla_bridge.get_backend(), lowered.as_hlo_module()
    )
    assert analysis["flops"] >= 7
    _, shapes = jax_xla_computation.xla_computation(lambda x: {"y": x[:2]}, return_shape=True)(X)
    assert shapes == {"y": jax.ShapeDtypeStruct((2,), jnp.float32)}
    with pytest.raises(NotImplementedError, match="axis_env"):
        jax_xla_computation.xla_computation(jnp.sin, axis_env=[("i", 2)])


def test_backends() -> None:
    assert jax_xla_bridge.get_backend().platform == jax.default_backend()
    assert jax_xla_bridge.get_device_backend(jax.devices()[0]).platform == "cpu"
    assert jax_xla_bridge.get_device_backend() is jax_xla_bridge.get_backend()
    assert jax_xla_bridge.device_count() == len(jax_xla_bridge.devices())
    assert (jax_xla_bridge.host_id(), jax_xla_bridge.host_count()) == (0, 1)
    assert jax_xla_bridge.host_ids() == [0]
    assert isinstance(jax.devices()[0], jaxlib_xla_extension.Device)
    assert isinstance(X, jaxlib_xla_extension.DeviceArray)
    assert isinstance(X, jaxlib_xla_extension.ArrayImpl)
    assert isinstance(X, jax_xla_client.ArrayImpl)
    assert jnp.dtype(jax_xla_client.bfloat16) == jnp.bfloat16


def test_meshes() -> None:
    devices = np.asarray(jax.devices()[:2])
    with warnings.catch_warnings():
        # Of `with mesh:`, which is what it was for.
        warnings.simplefilter("ignore", DeprecationWarning)
        with jax_maps.mesh(devices, ("data",)):
            assert jax_maps.thread_resources.env.physical_mesh.shape == {"data": 2}
            constrained = jax.jit(
                lambda x: jax.lax.with_sharding_constraint(x, PartitionSpec("data"))
            )(X)
    assert len(constrained.addressable_shards) == 2


def test_there_is_no_global_device_array() -> None:
    assert not isinstance(X, jax_global_device_array.GlobalDeviceArray)
    for make in (
        jax_global_device_array.GlobalDeviceArray,
        jax_global_device_array.GlobalDeviceArray.from_callback,
    ):
        with pytest.raises(NotImplementedError, match="make_array_from_callback"):
            make((2,), None, None, None)


def test_omnistaging_is_on() -> None:
    undo = jax_config.accept_omnistaging()
    jax.config.enable_omnistaging()  # type: ignore[attr-defined]
    jax_config.accept_omnistaging()()
    assert jax_config.config.enable_omnistaging is not None
    undo()
    undo()
    assert not hasattr(jax.config, "enable_omnistaging")


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


def test_id_print_prints(capfd: pytest.CaptureFixture[str]) -> None:
    jax.jit(lambda x: jax_host_callback.id_print(x, what="x") + 1)(jnp.arange(2))
    jax_host_callback.barrier_wait()
    assert capfd.readouterr().out == "what: x\n[0 1]\n"


class Assertions(jax_test_case.JaxTestCase):  # type: ignore[misc]
    def test_what_holds(self) -> None:
        self.assertArraysEqual(X, np.asarray(X))
        self.assertArraysAllClose(X, X * (1 + 1e-7))
        self.assertAllClose({"a": [1.0, X]}, {"a": (1.0, X)})
        self.assertAllClose(X, np.asarray(X, np.float64))
        self.assertAllClose(X, np.asarray(X, np.float64), check_dtypes=False, rtol=1e-3)
        self.assertMultiLineStrippedEqual("  a\n  b ", "a\nb")
        self.rng().rand(3)

    def test_what_does_not(self) -> None:
        for assertion in (
            lambda: self.assertArraysEqual(X, X + 1),
            lambda: self.assertArraysEqual(X, X.astype(jnp.float16)),
            lambda: self.assertArraysAllClose(X, X * 1.001),
            lambda: self.assertArraysAllClose(X, X[:2]),
            lambda: self.assertAllClose({"a": X}, {"b": X}),
            lambda: self.assertAllClose([X], [X, X]),
            lambda: self.assertDtypesMatch(X, X.astype(int)),
            lambda: self.assertMultiLineStrippedEqual("a", "b"),
        ):
            with pytest.raises(AssertionError):
                assertion()


def test_the_test_case() -> None:
    suite = unittest.TestLoader().loadTestsFromTestCase(Assertions)
    result = unittest.TestResult()
    suite.run(result)
    assert result.testsRun == 2 and result.wasSuccessful(), result.failures + result.errors


def test_check_eq_wants_the_same_structure() -> None:
    jax_test_util.check_eq({"a": X}, {"a": X})
    with pytest.raises(ValueError, match="'a'"):
        jax_test_util.check_eq({"a": X}, {"b": X})
