"""Which moments are found in a state, and what they are called."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.parity.moments import moments_in, renamed
from tests.support import cases

# {class: {what flax.optim calls a moment: what optax does}}, as the classes of optax's states say.
NAMES = {
    "Adam": {"grad_ema": "mu", "grad_sq_ema": "nu"},
    "AdaBelief": {"grad_ema": "mu", "grad_sq_ema": "nu"},
    "Adadelta": {"sq_avg": "e_g", "acc_delta": "e_x"},
    "Adafactor": {"v_row": "v_row", "v_col": "v_col", "v": "v", "m": "ema"},
    "Adagrad": {"G": "sum_of_squares"},
    "GradientDescent": {},
    "LAMB": {"grad_ema": "mu", "grad_sq_ema": "nu"},
    "LARS": {"momentum": "trace"},
    "Momentum": {"momentum": "trace"},
    "RMSProp": {"v": "nu", "mg": "mu"},
}


def named(found: Any) -> dict[str, str]:
    return {moment.own_name: name for name, moment in found.items()}


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_flax_optim(name: str, genuine: Any) -> None:
    case = next(each for each in cases.CASES if each.optimizer == name)
    for namespace in (optim, genuine):
        optimizer = case.build(namespace).create(case.parameters())
        found = moments_in(optimizer.state, optimizer.target)
        used = {own: optax_name for own, optax_name in NAMES[name].items() if own in named(found)}
        # The genuine RMSProp that is not centered keeps no mg.
        assert named(found) == used
        assert set(NAMES[name]) - set(used) <= {"mg"}
        for moment in found.values():
            assert len(moment.arrays) == len(jax.tree.leaves(optimizer.target))


def test_weight_norm_has_moments_of_both_factors() -> None:
    case = cases.case("WeightNorm-over_Adam")
    optimizer = case.build(optim).create(case.parameters())
    legacy = moments_in(optimizer.state, optimizer.target)
    modern = moments_in(optimizer.to_train_state().opt_state, optimizer.target)
    names = {"direction", "scale"} | {
        f"{moment} of {factor}" for moment in ("mu", "nu") for factor in ("direction", "scale")
    }
    assert set(legacy) == set(modern) == names
    assert legacy["mu of scale"].own_name == "grad_ema of scale"
    for name in names:
        for one, other in zip(legacy[name].arrays, modern[name].arrays, strict=True):
            assert (one is None) == (other is None)
            assert one is None or np.array_equal(one, other)


def test_parts_of_a_masked_chain_are_one_moment() -> None:
    params = {"a": jnp.ones(2), "b": jnp.ones(3), "c": jnp.ones(4)}
    masks = [{"a": True, "b": False, "c": False}, {"a": False, "b": True, "c": False}]
    tx = optax.chain(*(optax.masked(optax.scale_by_adam(), mask) for mask in masks))
    found = moments_in(tx.init(params), params)
    assert set(found) == {"mu", "nu"}
    assert [None if array is None else array.shape for array in found["mu"].arrays] == [
        (2,),
        (3,),
        None,
    ]


def test_two_of_the_same_parameters_keep_names_of_their_own() -> None:
    params = {"a": jnp.ones(2)}
    tx = optax.chain(optax.trace(0.9), optax.trace(0.5), optax.scale_by_adam())
    assert set(moments_in(tx.init(params), params)) == {"trace", "trace 2", "mu", "nu"}


def test_wrappers_of_optax() -> None:
    params = {"a": jnp.ones(2), "b": jnp.ones(3)}
    tx = optax.MultiSteps(optax.inject_hyperparams(optax.adam)(learning_rate=0.1), 2)
    found = moments_in(tx.init(params), params)
    assert set(found) == {"mu", "nu", "acc_grads"}


def test_settings_and_counts_are_no_moments() -> None:
    # With one array as parameters, every array has their structure.
    tx = optax.inject_hyperparams(optax.adam)(learning_rate=0.1)
    assert set(moments_in(tx.init(jnp.ones(2)), jnp.ones(2))) == {"mu", "nu"}
    # And a chain of two has the structure of a pair.
    params = (jnp.ones(2), jnp.ones(3))
    tx = optax.adam(0.1)
    found = moments_in(tx.init(params), params)
    assert set(found) == {"mu", "nu"}
    assert [array.shape for array in found["mu"].arrays] == [(2,), (3,)]


class Handmade(NamedTuple):
    m: Any
    extra: Any


def test_names_of_hand_written_states() -> None:
    params = {"w": jnp.ones(2)}
    zeros = {"w": jnp.zeros(2)}
    state = {"m": zeros, "v": zeros, "t": 0, "other": [zeros]}
    assert named(moments_in(state, params)) == {"m": "mu", "v": "nu", "other": "other"}
    # optax means what it says.
    assert set(moments_in(Handmade(zeros, None), params)) == {"m"}


def test_no_moments() -> None:
    assert moments_in((), {"w": jnp.ones(2)}) == {}
    assert moments_in(None, {}) == {}
    assert moments_in({"n": 3, "name": "x", "f": test_no_moments}, {"w": jnp.ones(2)}) == {}


def test_names_of_recorded_moments() -> None:
    arrays = [np.ones(2)]
    assert set(renamed({"v": arrays, "mg": arrays})) == {"nu", "mu"}
    assert set(renamed({"grad_ema": arrays, "grad_sq_ema": arrays})) == {"mu", "nu"}
    assert renamed({"momentum": arrays})["trace"].own_name == "momentum"
