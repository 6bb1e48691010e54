"""Old calls that jax 0.4.13 and flax 0.5.3 did not take any more: what they give is written out."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen
from flax.training import checkpoints

import flaxoptim_compat

X = jnp.arange(4.0)
KEY = jax.random.PRNGKey(0)
HAS_DEVICE = hasattr(X, "device")  # since jax 0.4.31


@pytest.fixture(autouse=True)
def served() -> Iterator[None]:
    with flaxoptim_compat.installed(era=True):
        yield


def test_jit_had_numbers_before_shardings() -> None:
    decorated = functools.partial(jax.jit, static_argnums=0)(lambda n, x: x * n)
    for repeated in (
        decorated,
        jax.jit(lambda n, x: x * n, 0),
        jax.jit(lambda n, x: x * n, (0,), None),
        jax.jit(lambda n, x: x * n, [0], None, None, ()),
    ):
        assert repeated(2, X).tolist() == (2 * X).tolist()


def test_concrete_is_taken_and_changes_nothing() -> None:
    for decorate in (jax.checkpoint, jax.remat):
        for square in (
            decorate(lambda x: x * x, concrete=True),
            decorate(lambda x: x * x, False),
            decorate(lambda x: x * x, False, True, None),
        ):
            assert jax.grad(square)(3.0) == 6
    dense = linen.remat(linen.Dense, concrete=True)(2)
    assert dense.init_with_output(KEY, X)[0].shape == (2,)


def test_methods_that_arrays_had() -> None:
    devices = jax.devices()[:2]
    assert X.to_py().tolist() == X.tolist() and type(X.to_py()) is np.ndarray
    assert X.device() == next(iter(X.devices()))
    assert not HAS_DEVICE or X.device() == X.device
    assert X.device_buffer.tolist() == X.tolist()
    mesh = jax.sharding.Mesh(np.asarray(devices), ("x",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    two = jax.device_put(X, sharding)
    assert [part.tolist() for part in two.device_buffers] == [[0.0, 1.0], [2.0, 3.0]]
    with pytest.raises(ValueError, match="several devices"):
        assert two.device_buffer


def test_checkpoints_take_no_manager_of_global_arrays(tmp_path: Path) -> None:
    checkpoints.save_checkpoint(tmp_path, {"x": X}, 3, gda_manager=None)
    assert checkpoints.latest_checkpoint(tmp_path) == str(tmp_path / "checkpoint_3")
    with pytest.raises(TypeError):
        checkpoints.save_checkpoint(tmp_path, {"x": X}, 4, gda_manager=object())


def test_names_of_arguments() -> None:
    assert jnp.broadcast_to(arr=X, shape=(2, 4)).tolist() == [X.tolist()] * 2
    assert jnp.broadcast_to(arr=[1, 2], shape=(2, 2)).tolist() == [[1, 2]] * 2
    assert jax.scipy.special.betaln(x=2.0, y=3.0) == jax.scipy.special.betaln(2.0, 3.0)
    permute = jax.lax.linalg.lu_pivots_to_permutation
    assert permute(swaps=jnp.asarray([1, 1]), m=3).tolist() == [1, 0, 2]


def test_collections_were_kinds() -> None:
    class Counter(linen.Module):
        @linen.compact
        def __call__(self) -> Any:
            count = self.variable("counts", "calls", lambda: 0)
            more = self.variable(kind="counts", name="more", init_fn=lambda: 5)
            assert self.has_variable(kind="counts", name="calls")
            self.put_variable(kind="counts", name="calls", value=count.value + 1)
            assert self.make_rng(kind="noise").shape == self.make_rng("noise").shape
            return self.get_variable(kind="counts", name="calls"), more.value

    rngs = {"noise": KEY}
    assert Counter().apply({}, rngs=rngs, mutable=["counts"])[0] == (1, 5)
