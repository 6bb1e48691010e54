"""Texts whose hyper-parameters change from step to step, run beside flax.optim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest

from flaxoptim_compat.catalogue import BY_NAME
from flaxoptim_compat.migrate.optax_text.binding import Refused, check
from tests.support import cases
from tests.support.optax_texts import PARAMS, bound_in, made, rewritten
from tests.support.side_by_side import assert_same

STEPS = 3

# Each class once, with everything that optax can be given with each step; "" is the call that has
# no learning rate.
CALLS = {
    "AdaBelief": "optim.AdaBelief({}weight_decay=cfg.decay)",
    "Adadelta": "optim.Adadelta({}rho=0.8, weight_decay=cfg.decay)",
    "Adafactor": "optim.Adafactor({}min_dim_size_to_factor=4, beta1=0.9, weight_decay_rate=0.1)",
    "Adagrad": "optim.Adagrad({}eps=1e-3)",
    "Adam": "optim.Adam({}beta1=cfg.beta, weight_decay=0.1)",
    "GradientDescent": "optim.GradientDescent({})",
    "LAMB": "optim.LAMB({}weight_decay=cfg.decay)",
    "LARS": "optim.LARS({}nesterov=cfg.nesterov)",
    "Momentum": "optim.Momentum({}weight_decay=cfg.decay, nesterov=True)",
    "RMSProp": "optim.RMSProp({}beta2=cfg.beta, centered=cfg.nesterov)",
    "WeightNorm": "optim.WeightNorm(optim.Adam({}beta2=cfg.beta), wn_decay=0.1)",
}
VALUES = {
    "beta": 0.8,
    "clipping_threshold": 0.5,
    "decay_rate": 0.6,
    "eps": 1e-3,
    "epsilon1": 1e-6,
    "epsilon2": 0.1,
    "learning_rate": 0.05,
    "trust_coefficient": 0.02,
    "weight_decay": 0.1,
    "weight_decay_rate": 0.01,
    "wn_decay": 0.2,
    "wn_eps": 1e-2,
}


class Config:
    """The settings of a program, which it may change."""

    def __init__(self) -> None:
        self.beta = 0.85
        self.decay = 0.05
        self.nesterov = True


def stepper(tx: Any) -> Any:
    @jax.jit
    def step(params: Any, state: Any, grads: Any) -> Any:
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    return step


@jax.jit
def legacy_step(optimizer: Any, grads: Any, overrides: Mapping[str, Any]) -> Any:
    return optimizer.apply_gradient(grads, **overrides)


def gradients(step: int, params: Any) -> Any:
    return jax.tree.map(jnp.asarray, cases.gradients(step, params))


def can_be_injected(text: str, name: str) -> bool:
    try:
        check(bound_in(text), [name, "learning_rate"])
    except Refused:
        return False
    return True


@pytest.mark.parametrize("name", CALLS)
def test_what_is_given_with_each_step(name: str) -> None:
    text = f"tx = {CALLS[name].format('')}\n"
    known = [*BY_NAME[name].hyper_params, "learning_rate"]
    injected = [each for each in VALUES if each in known and can_be_injected(text, each)]
    new = rewritten(text, injected)
    cfg = Config()
    optimizer, tx = made(text, cfg=cfg).create(PARAMS), made(new, cfg=cfg)
    # What the program does with its settings later is not for the optimizer.
    cfg.beta, cfg.decay, cfg.nesterov = 0.1, 0.9, False
    params, state, step = PARAMS, tx.init(PARAMS), stepper(tx)
    assert set(state.hyperparams) == set(injected)
    for number in range(STEPS):
        values = {each: jnp.float32(VALUES[each] * (1 + 0.3 * number)) for each in injected}
        grads = gradients(number, PARAMS)
        optimizer = legacy_step(optimizer, grads, values)
        state.hyperparams.update(values)
        params, state = step(params, state, grads)
        assert_same(params, optimizer.target)


@pytest.mark.parametrize("rate", ["0.3, ", "cfg.beta, "])
def test_the_rate_of_the_call_is_the_first(rate: str) -> None:
    text = f"tx = {CALLS['Momentum'].format(rate)}\n"
    tx = made(rewritten(text, ["learning_rate"]), cfg=Config())
    expected = jnp.float32(0.3 if rate == "0.3, " else 0.85)
    assert_same(tx.init(PARAMS).hyperparams, {"learning_rate": expected})


@pytest.mark.parametrize("name", ["AdaBelief", "Adadelta", "LAMB", "Momentum"])
def test_a_weight_decay_that_turns_out_to_be_zero(name: str) -> None:
    # The text decays by 0; flax.optim left the decay out.
    text = f"tx = {CALLS[name].format('0.05, ')}\n"
    cfg = Config()
    cfg.decay = 0.0
    optimizer, tx = made(text, cfg=cfg).create(PARAMS), made(rewritten(text), cfg=cfg)
    params, state, step = PARAMS, tx.init(PARAMS), stepper(tx)
    for number in range(STEPS):
        grads = gradients(number, PARAMS)
        optimizer = legacy_step(optimizer, grads, {})
        params, state = step(params, state, grads)
        assert_same(params, optimizer.target)
