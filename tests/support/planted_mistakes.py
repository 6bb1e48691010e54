"""Known mistakes, as their authors would have written them in plain optax."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat import optim
from flaxoptim_compat.parity import trial
from flaxoptim_compat.transforms import scale_by_lamb_trust_ratio

STEPS = 10
# One array is enough for most, and compiles fastest.
KERNEL = {"kernel": trial.parameters()["dense"]["kernel"]}
# Flax.optim's LAMB and LARS treat a parameter that starts as zeros in their own way.
WITH_ZEROS = {**KERNEL, "bias": jnp.zeros((10,))}


def gradients(params: Any) -> list[Any]:
    step = jax.jit(lambda index: trial.gradients(params, index))
    return [jax.device_get(step(index)) for index in range(STEPS)]


GRADS = {id(tree): gradients(tree) for tree in (KERNEL, WITH_ZEROS)}


class Planted(NamedTuple):
    """A definition, what was written in its place, and what is wrong about it."""

    legacy: Any
    other: Any
    keys: str
    params: Any = KERNEL


def counting_from_1(tx: Any) -> Any:
    """The transformation with another first state."""

    def init(params: Any) -> Any:
        return optax.tree_utils.tree_set(tx.init(params), count=jnp.ones((), jnp.int32))

    return optax.GradientTransformation(init, tx.update)


def with_second_moment_in(dtype: Any, tx: Any) -> Any:
    def cast(state: Any) -> Any:
        nu = jax.tree.map(lambda leaf: leaf.astype(dtype), state[0].nu)
        return (state[0]._replace(nu=nu), *state[1:])

    def update(grads: Any, state: Any, params: Any = None) -> Any:
        updates, after = tx.update(grads, state, params)
        return updates, cast(after)

    return optax.GradientTransformation(lambda params: cast(tx.init(params)), update)


def uncorrected_adam(rate: float) -> Any:
    """As Adam is often written down by hand, without the bias correction."""

    def init(params: Any) -> Any:
        return jax.tree.map(lambda leaf: (jnp.zeros_like(leaf),) * 2, params)

    def update(grads: Any, state: Any, params: Any = None) -> Any:
        moved = jax.tree.map(
            lambda g, s: (0.9 * s[0] + 0.1 * g, 0.999 * s[1] + 0.001 * g * g), grads, state
        )
        return (
            jax.tree.map(lambda g, s: -rate * s[0] / (jnp.sqrt(s[1]) + 1e-8), grads, moved),
            moved,
        )

    return optax.GradientTransformation(init, update)


chain = optax.chain
decay = optax.add_decayed_weights
rate_of = optax.scale_by_learning_rate

PLANTED = {
    # eps
    "rmsprop": Planted(optim.RMSProp(0.01), optax.rmsprop(0.01), "eps-inside-root"),
    "adam, eps_root": Planted(
        optim.Adam(0.01), optax.adam(0.01, eps=0.0, eps_root=1e-8), "eps-inside-root"
    ),
    "lamb, eps_root": Planted(
        optim.LAMB(0.01), optax.lamb(0.01, eps=0.0, eps_root=1e-6), "eps-inside-root"
    ),
    "adabelief, eps alone": Planted(
        optim.AdaBelief(0.01, eps=1e-6), optax.adabelief(0.01, eps=1e-6), "default-eps-root"
    ),
    # initial accumulator
    "adagrad": Planted(optim.Adagrad(0.01), optax.adagrad(0.01), "initial-accumulator"),
    "adagrad, start": Planted(
        optim.Adagrad(0.1, eps=1e-3),
        chain(optax.scale_by_rss(0.0, eps=1e-3), rate_of(0.1)),
        "eps-inside-root",
    ),
    "adagrad, large eps": Planted(
        optim.Adagrad(0.01, eps=1e-3),
        optax.adagrad(0.01, eps=1e-3),
        "eps-inside-root initial-accumulator",
    ),
    "rmsprop of TensorFlow": Planted(
        optim.RMSProp(0.01),
        optax.rmsprop(0.01, eps_in_sqrt=False, initial_scale=1.0),
        "initial-accumulator",
    ),
    # weight decay
    "adam, L2": Planted(
        optim.Adam(0.01, weight_decay=0.1),
        chain(decay(0.1), optax.adam(0.01)),
        "decay-before-moments",
    ),
    "adadelta": Planted(
        optim.Adadelta(0.1, weight_decay=0.1),
        optax.adadelta(0.1, weight_decay=0.1),
        "decay-before-moments",
    ),
    "sgdw": Planted(
        optim.Momentum(0.01, weight_decay=0.1),
        chain(optax.trace(0.9), decay(0.1), rate_of(0.01)),
        "decay-after-moments",
    ),
    "adam, forgotten decay": Planted(
        optim.Adam(0.01, weight_decay=0.1), optax.adam(0.01), "decay-missing"
    ),
    "adam, decay by itself": Planted(
        optim.Adam(0.01, weight_decay=0.1),
        chain(optax.adam(0.01), decay(-0.1)),
        "decay-not-times-rate",
    ),
    "adafactor, decay times rate": Planted(
        optim.Adafactor(0.1, weight_decay_rate=0.1),
        optax.adafactor(0.1, weight_decay_rate=0.01),
        "decay-times-rate",
    ),
    "adamw": Planted(optim.Adam(0.01), optax.adamw(0.01), "decay-by-default"),
    "momentum, forgotten decay": Planted(
        optim.Momentum(0.01, weight_decay=0.1), optax.sgd(0.01, momentum=0.9), "decay-missing"
    ),
    "adafactor, forgotten decay": Planted(
        optim.Adafactor(0.1, weight_decay_rate=0.1), optax.adafactor(0.1), "decay-missing"
    ),
    # trust ratio
    "lamb": Planted(optim.LAMB(0.01), optax.lamb(0.01), "zero-parameter-trust-ratio", WITH_ZEROS),
    "lamb without": Planted(optim.LAMB(0.01), optax.adam(0.01, eps=1e-6), "trust-ratio-missing"),
    "lars": Planted(
        optim.LARS(0.1, weight_decay=0.1),
        optax.lars(0.1, weight_decay=0.1),
        "trust-ratio-of-the-sum",
    ),
    "lars, still": Planted(
        optim.LARS(0.1, trust_coefficient=1.0),
        chain(scale_by_lamb_trust_ratio(), rate_of(0.1), optax.trace(0.9)),
        "zero-parameter-trust-ratio",
        WITH_ZEROS,
    ),
    # momentum
    "sgd": Planted(optim.Momentum(0.01), optax.sgd(0.01), "momentum-missing"),
    "adafactor, beta1": Planted(
        optim.Adafactor(0.01, beta1=0.9), optax.adafactor(0.01), "momentum-missing"
    ),
    "nesterov forgotten": Planted(
        optim.Momentum(0.01, nesterov=True), optax.sgd(0.01, momentum=0.9), "nesterov-missing"
    ),
    "nesterov added": Planted(optim.LARS(0.1), optax.lars(0.1, nesterov=True), "nesterov-added"),
    # bias correction
    "count from 1": Planted(
        optim.Adam(0.01), counting_from_1(optax.adam(0.01)), "bias-correction-off-by-a-step"
    ),
    "uncorrected": Planted(optim.Adam(0.01), uncorrected_adam(0.01), "bias-correction-missing"),
    "adabelief, count from 1": Planted(
        optim.AdaBelief(0.01),
        counting_from_1(optax.adabelief(0.01)),
        "bias-correction-off-by-a-step",
    ),
    "corrected": Planted(
        optim.RMSProp(0.01),
        optax.rmsprop(0.01, eps_in_sqrt=False, bias_correction=True),
        "bias-correction-added",
    ),
    "adafactor, count from 1": Planted(
        optim.Adafactor(0.1), counting_from_1(optax.adafactor(0.1)), "decay-rate-off-by-a-step"
    ),
    # precision
    "mu_dtype": Planted(
        optim.Adam(0.01), optax.adam(0.01, mu_dtype=jnp.bfloat16), "low-precision-moments"
    ),
    "lars, momentum": Planted(
        optim.LARS(0.1),
        chain(
            optax.scale_by_trust_ratio(trust_coefficient=0.001),
            rate_of(0.1),
            optax.trace(0.9, accumulator_dtype=jnp.bfloat16),
        ),
        "low-precision-moments",
    ),
    "accumulator_dtype": Planted(
        optim.Momentum(0.01),
        optax.sgd(0.01, momentum=0.9, accumulator_dtype=jnp.bfloat16),
        "low-precision-moments",
    ),
    "second moment": Planted(
        optim.Adam(0.01),
        with_second_moment_in(jnp.bfloat16, optax.adam(0.01)),
        "low-precision-moments",
    ),
    "momentum of adafactor": Planted(
        optim.Adafactor(0.1, beta1=0.9),
        optax.adafactor(0.1, momentum=0.9, dtype_momentum=jnp.bfloat16),
        "low-precision-moments",
    ),
    "not the dtype of the config": Planted(
        optim.Adafactor(0.1, beta1=0.9, dtype_momentum=jnp.bfloat16),
        optax.adafactor(0.1, momentum=0.9),
        "full-precision-moments",
    ),
    # rate
    "ascent": Planted(optim.Adam(0.01), chain(optax.scale_by_adam(), optax.scale(0.01)), "ascent"),
    "no rate": Planted(
        optim.RMSProp(0.01), optax.rmsprop(None, eps_in_sqrt=False), "learning-rate-missing"
    ),
    # defaults of optax
    "beta2 forgotten": Planted(
        optim.RMSProp(0.01, beta2=0.99), optax.rmsprop(0.01, eps_in_sqrt=False), "default-beta2"
    ),
    "eps forgotten": Planted(optim.Adam(0.01, eps=1e-3), optax.adam(0.01), "default-eps"),
    "eps of adagrad": Planted(
        optim.Adagrad(0.01, eps=1e-3),
        chain(optax.scale_by_rss(0.0), rate_of(0.01)),
        "default-eps eps-inside-root",
    ),
    "epsilon2": Planted(
        optim.Adafactor(0.1, epsilon2=0.1),
        optax.adafactor(0.1),
        "default-epsilon2",
        WITH_ZEROS,
    ),
    # together
    "two": Planted(
        optim.Adam(0.01, weight_decay=0.1),
        chain(decay(0.1), optax.adam(0.01, eps=0.0, eps_root=1e-8)),
        "eps-inside-root decay-before-moments",
    ),
    # More than two would be another optimizer, and could hardly be told apart.
    "three": Planted(
        optim.RMSProp(0.01, beta2=0.99, centered=True),
        optax.rmsprop(0.01),
        "",
    ),
    "two of lars": Planted(
        optim.LARS(0.1, weight_decay=0.1, nesterov=True),
        optax.lars(0.1, weight_decay=0.1),
        "nesterov-missing trust-ratio-of-the-sum",
    ),
}
