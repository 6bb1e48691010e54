"""Which moments are found in a state, and what they are called."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.parity.moments import moments_in
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


class Handmade(NamedTuple):
    m: Any
    extra: Any


ONE, TWO = {"w": jnp.ones(2)}, {"a": jnp.ones(2), "b": jnp.ones(3)}
PAIR = (jnp.ones(2), jnp.ones(3))
INJECTED = optax.inject_hyperparams(optax.adam)(learning_rate=0.1)
MASKED = [
    optax.masked(optax.scale_by_adam(), {"a": first, "b": not first}) for first in (True, False)
]
TWICE = optax.chain(optax.trace(0.9), optax.trace(0.5), optax.scale_by_adam())
HAND_WRITTEN = {"m": ONE, "v": ONE, "t": 0, "other": [ONE]}
# {what: (a state, the parameters, the moments that are in it)}
STATES = {
    "parts of a masked chain are one moment": (optax.chain(*MASKED).init(TWO), TWO, {"mu", "nu"}),
    "two of the same": (TWICE.init(ONE), ONE, {"trace", "trace 2", "mu", "nu"}),
    "wrapped": (optax.MultiSteps(INJECTED, 2).init(TWO), TWO, {"mu", "nu", "acc_grads"}),
    # With one array as parameters, every array has their structure.
    "settings and counts are none": (INJECTED.init(jnp.ones(2)), jnp.ones(2), {"mu", "nu"}),
    # And a chain of two has the structure of a pair.
    "a pair": (optax.adam(0.1).init(PAIR), PAIR, {"mu", "nu"}),
    "written by hand": (HAND_WRITTEN, ONE, {"mu", "nu", "other"}),
    "optax means what it says": (Handmade(ONE, None), ONE, {"m"}),
    "nothing": ((), ONE, set()),
    "no state": (None, {}, set()),
    "no arrays": ({"n": 3, "name": "x", "f": named}, ONE, set()),
}


@pytest.mark.parametrize("what", STATES)
def test_which_moments_are_in_a_state(what: str) -> None:
    state, params, names = STATES[what]
    found = moments_in(state, params)
    assert set(found) == names
    if what == "written by hand":
        assert named(found) == {"m": "mu", "v": "nu", "other": "other"}
    shapes = [leaf.shape for leaf in jax.tree.leaves(params)]
    for moment in found.values():
        assert [array.shape for array in moment.arrays if array is not None] == shapes


def test_what_a_mask_leaves_out_has_none() -> None:
    found = moments_in(MASKED[0].init(TWO), TWO)
    assert [array is None for array in found["mu"].arrays] == [False, True]
