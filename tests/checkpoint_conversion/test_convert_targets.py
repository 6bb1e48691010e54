"""``checkpoint convert`` with parameters of every structure and dtype."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax import serialization
from flax.core import freeze

from flaxoptim_compat import optim
from tests.support.cases import case
from tests.support.checkpoint_conversions import converted, with_moments, with_rate, written
from tests.support.training import create


def test_dict_and_frozen_dict_are_the_same_file(tmp_path: Path) -> None:
    params = {"w": jnp.ones((2, 3)), "b": jnp.zeros(3)}
    files = []
    for target in (params, freeze(params)):
        optimizer = optim.Momentum(0.1).create(target)
        source = written(tmp_path / type(target).__name__, optimizer)
        files.append(converted(source, "train-state", name="Momentum"))
    assert files[0] == files[1]


@pytest.mark.parametrize(
    "target",
    [jnp.ones((2, 3)), [jnp.ones(2)] * 12, (jnp.ones(2), {"a": jnp.ones(3)}), {}],
    ids=["array", "list", "tuple", "empty"],
)
def test_targets_that_are_no_dict(target: Any, tmp_path: Path) -> None:
    optimizer = optim.RMSProp(0.1, centered=True).create(target)
    source = written(tmp_path / "legacy", optimizer)
    content = converted(source, "train-state", definitions=optimizer.optimizer_def)
    assert content == serialization.to_bytes(optimizer.to_train_state())
    (tmp_path / "state").write_bytes(content)
    again = converted(tmp_path / "state", "legacy", definitions=optimizer.optimizer_def)
    assert again == source.read_bytes()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(dtype: str, tmp_path: Path) -> None:
    optimizer = create(case("Adam-default"), optim, dtype)
    content = converted(written(tmp_path / "legacy", optimizer), "train-state", name="Adam")
    assert with_rate(content, 0.05) == serialization.to_bytes(optimizer.to_train_state())


def test_parameters_of_64_bits(x64: None, tmp_path: Path) -> None:
    double = optim.ModelParamTraversal(lambda _, value: value.dtype == jnp.float64)
    params = {"double": jnp.ones((2, 3)), "single": jnp.ones(3, jnp.float32)}
    optimizer = with_moments(optim.Adam(0.1).create(params, focus=double))
    source = written(tmp_path / "legacy", optimizer)
    # The command does not know that the program had switched it on.
    jax.config.update("jax_enable_x64", False)
    content = converted(source, "train-state", definitions=optimizer.optimizer_def)
    (tmp_path / "state").write_bytes(content)
    assert converted(tmp_path / "state", "legacy") == source.read_bytes()
    assert not jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    assert content == serialization.to_bytes(optimizer.to_train_state())
