"""What is restored with other axes of size one than what it is restored into."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import jax_utils, serialization

from flaxoptim_compat import FlaxOptimLeniencyWarning, optim, strict
from flaxoptim_compat.legacy.installing import installed
from tests.support.group_norm import DEFINITIONS, parameters, reshaped, trained
from tests.support.side_by_side import assert_same


@pytest.mark.parametrize("name", DEFINITIONS)
def test_parameters_and_moments_of_every_optimizer(name: str) -> None:
    old, new = (trained(DEFINITIONS[name], axes) for axes in (3, 0))
    for saved, template in ((old, new), (new, old)):
        with pytest.warns(FlaxOptimLeniencyWarning) as caught:
            restored = template.restore_state(saved.state_dict())
        assert_same(restored, reshaped(saved, template))
        (warning,) = caught
        assert str(warning.message).startswith(
            "A restored array has other axes of size one than the array in its place: at ['target']"
        )
        assert "strict()" in str(warning.message)


def test_strictly_it_is_an_error() -> None:
    old, new = (trained(optim.Adam(0.1), axes) for axes in (3, 0))
    with strict(), pytest.raises(ValueError, match=r"target/GroupNorm_0/bias expected .*\(8,\)"):
        new.restore_state(old.state_dict())
    average = {"step": 3, "average": old.target}
    with (
        strict(),
        installed(era=True),
        pytest.raises(ValueError, match=r"'average'.*\(8,\).*Nothing was restored"),
    ):
        serialization.from_state_dict({"step": 0, "average": new.target}, average)


@pytest.mark.filterwarnings("ignore::flaxoptim_compat.FlaxOptimLeniencyWarning")
def test_a_copy_for_one_device_stays_one() -> None:
    optimizer = trained(optim.Adam(0.1), 0)
    one = jax_utils.replicate(optimizer, devices=jax.devices()[:1])
    with installed(era=True):
        restored = serialization.from_state_dict(optimizer, serialization.to_state_dict(one))
        assert_same(restored, one)
        restored = serialization.from_state_dict(one, serialization.to_state_dict(optimizer))
        assert_same(restored, optimizer)
        params = serialization.from_state_dict(optimizer.target, one.target)
        assert_same(params, one.target)


@pytest.mark.filterwarnings("ignore::flaxoptim_compat.FlaxOptimLeniencyWarning")
def test_it_stays_as_it_is_where_a_shape_differs_by_more() -> None:
    old, new = (trained(optim.Adam(0.1), axes) for axes in (3, 0))
    state = old.state_dict()
    state["target"]["Dense_0"]["bias"] = np.ones(5)
    restored = new.restore_state(state)
    assert restored.target["GroupNorm_0"]["scale"].shape == (1, 1, 1, 8)
    assert restored.target["Dense_0"]["bias"].shape == (5,)


def test_averages_and_parameters_alone_where_the_era_is_served() -> None:
    old, new = ({"n": 3, "average": parameters(axes)} for axes in (3, 0))
    saved = serialization.to_bytes(old)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(serialization.from_bytes(new, saved)["average"], old["average"])
    with installed(era=True), pytest.warns(FlaxOptimLeniencyWarning, match="'average'"):
        assert_same(serialization.from_bytes(new, saved), reshaped_of(old, new))
    assert serialization.from_bytes(new, saved)["average"]["own"]["kernel"].ndim == 5


def reshaped_of(old: Any, new: Any) -> Any:
    return {**new, "average": reshaped(old["average"], new["average"])}


def test_what_jax_does_not_know_is_restored_as_before() -> None:
    mixed = {1: jnp.ones(2), "two": jnp.ones((1, 2))}
    with installed(era=True):
        restored = serialization.from_state_dict(mixed, {"1": np.ones(2), "two": np.ones(2)})
    assert {key: value.shape for key, value in restored.items()} == {1: (2,), "two": (2,)}
