"""Causes between two transformations of optax, neither of them made by flax.optim."""

from __future__ import annotations

from typing import Any

import optax
import pytest

from flaxoptim_compat import optim, to_optax
from flaxoptim_compat.parity import compare
from flaxoptim_compat.parity.causes.of_optax import definition_of
from tests.support.planted_mistakes import GRADS, KERNEL
from tests.support.side_by_side import assert_same

RATE = 0.01
KNOWN = {
    "sgd": (optax.sgd(RATE), optim.GradientDescent(RATE)),
    "momentum": (optax.sgd(RATE, 0.8), optim.Momentum(RATE, beta=0.8)),
    "nesterov": (optax.sgd(RATE, 0.8, nesterov=True), optim.Momentum(RATE, 0.8, nesterov=True)),
    "decayed": (
        optax.chain(optax.add_decayed_weights(0.1), optax.sgd(RATE, 0.9)),
        optim.Momentum(RATE, weight_decay=0.1),
    ),
    "adam": (optax.adam(RATE, b2=0.99, eps=1e-3), optim.Adam(RATE, beta2=0.99, eps=1e-3)),
    "adamw": (optax.adamw(RATE, weight_decay=0.1), optim.Adam(RATE, weight_decay=0.1)),
    "adabelief": (optax.adabelief(RATE), optim.AdaBelief(RATE)),
    "rmsprop": (optax.rmsprop(RATE, eps_in_sqrt=False), optim.RMSProp(RATE)),
    "centered": (
        optax.rmsprop(RATE, 0.8, eps_in_sqrt=False, centered=True),
        optim.RMSProp(RATE, 0.8, centered=True),
    ),
    "adadelta": (optax.adadelta(RATE, rho=0.8), optim.Adadelta(RATE, rho=0.8)),
}
# What flax.optim has not, or has otherwise.
UNKNOWN = {
    "eps inside": optax.rmsprop(RATE),
    "momentum of rmsprop": optax.rmsprop(RATE, eps_in_sqrt=False, momentum=0.9),
    "nadam": optax.nadam(RATE),
    "half precision": optax.adam(RATE, mu_dtype="bfloat16"),
    "decay at another place": optax.chain(optax.add_decayed_weights(0.1), optax.adam(RATE)),
    "schedule": optax.adam(optax.linear_schedule(0.1, 0.0, 10)),
    "injected": optax.inject_hyperparams(optax.adam)(learning_rate=RATE),
    "clipped": optax.chain(optax.clip(1.0), optax.sgd(RATE)),
    "no rate": optax.scale_by_adam(),
    "lion": optax.lion(RATE),
    "by hand": optax.GradientTransformation(lambda params: (), lambda g, s, p=None: (g, s)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_definition_that_a_transformation_could_be(name: str) -> None:
    tx, expected = KNOWN[name]
    definition = definition_of(tx)
    assert type(definition) is type(expected)
    assert definition.hyper_params == expected.hyper_params
    # And it is: one step is enough, since the tests of the definitions do many.
    grads = GRADS[id(KERNEL)][0]

    def update(tx: Any) -> Any:
        return tx.update(grads, tx.init(KERNEL), KERNEL)[0]

    assert_same(update(to_optax(definition, KERNEL)), update(tx))


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_no_definition(name: str) -> None:
    assert definition_of(UNKNOWN[name]) is None


def test_the_cause() -> None:
    first, second = optax.adamw(RATE, weight_decay=0.1), optax.adam(RATE)
    (cause,) = compare(first, second, KERNEL, GRADS[id(KERNEL)]).causes
    assert cause.key == "decay-missing"
    said = "The second side has no weight decay; the first side has one."
    assert cause.summary.startswith(said)
