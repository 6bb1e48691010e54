"""One function of optax is injected as it is, with the bits of the lambda around it."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import jax
import optax
import pytest

from flaxoptim_compat import syntax
from flaxoptim_compat.migrate.optax_text.injecting import injected_function
from tests.support import cases
from tests.support.optax_texts import PARAMS, made, rewritten
from tests.support.side_by_side import assert_same


def parameters_of(function: str) -> dict[str, Any]:
    parameters = inspect.signature(getattr(optax, function)).parameters
    return {name: each.default for name, each in parameters.items()}


def written(body: str, starts: dict[str, str], static: dict[str, str]) -> str:
    def trees(texts: dict[str, str]) -> dict[str, ast.expr]:
        return {name: syntax.Quoted(text) for name, text in texts.items()}

    node = ast.parse(body, mode="eval").body
    found = injected_function(node, trees(starts), trees(static), parameters_of)
    return "" if found is None else syntax.in_one_line(found)


RATE = {"learning_rate": "0.1"}


@pytest.mark.parametrize(
    ("body", "static", "expected"),
    [
        ("optax.sgd(learning_rate)", {}, "(optax.sgd)(learning_rate=0.1)"),
        (
            "optax.sgd(learning_rate, momentum=m, nesterov=True)",
            {"m": "cfg.m"},
            '(optax.sgd, static_args="momentum")(learning_rate=0.1, momentum=cfg.m, nesterov=True)',
        ),
        # A truth value that is not known here might be an array.
        (
            "optax.sgd(learning_rate, nesterov=n)",
            {"n": "cfg.n"},
            '(optax.sgd, static_args="nesterov")(learning_rate=0.1, nesterov=cfg.n)',
        ),
        # Where a function is the value, it is no schedule.
        (
            "optax.sgd(learning_rate, accumulator_dtype=jnp.float32)",
            {},
            '(optax.sgd, static_args="accumulator_dtype")'
            "(learning_rate=0.1, accumulator_dtype=jnp.float32)",
        ),
        ("optax.chain(optax.sgd(learning_rate))", {}, ""),
        ("transforms.weight_norm(optax.sgd(learning_rate))", {}, ""),
        ("optax.sgd(rate)", {"rate": "0.1"}, ""),
        ("optax.sgd(0.1, momentum=learning_rate)", {}, ""),
        ("optax.sgd(learning_rate, momentum=f(learning_rate))", {}, ""),
        ("optax.sgd(learning_rate, momentum=f(m))", {"m": "cfg.m"}, ""),
        ("optax.sgd", {}, ""),
    ],
)
def test_what_is_written(body: str, static: dict[str, str], expected: str) -> None:
    assert written(body, RATE, static) == (expected and f"optax.inject_hyperparams{expected}")


CALLS = {
    "optim.GradientDescent(0.1)": "optax.sgd(learning_rate)",
    "optim.Momentum(0.1, beta=0.8)": "optax.sgd(learning_rate, momentum=0.8)",
    "optim.Adam(0.1, beta2=0.98)": "optax.adam(learning_rate, b2=0.98)",
    "optim.Adam(0.1, weight_decay=0.1)": "optax.adamw(learning_rate, weight_decay=0.1)",
    "optim.AdaBelief(0.1)": "optax.adabelief(learning_rate)",
    "optim.RMSProp(0.1, centered=True)": (
        "optax.rmsprop(learning_rate, eps_in_sqrt=False, centered=True)"
    ),
}


def trained(tx: Any) -> Any:
    """The parameters and the whole state after some steps, each with another rate."""

    @jax.jit
    def step(params: Any, state: Any, grads: Any, rate: Any) -> Any:
        state = optax.tree_utils.tree_set(state, learning_rate=rate)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    params, state = PARAMS, tx.init(PARAMS)
    for number in range(3):
        grads = cases.gradients(number, PARAMS)
        params, state = step(params, state, grads, 0.1 * 0.7**number)
    return params, state


@pytest.mark.parametrize("call", CALLS)
def test_no_bit_is_another_one_than_with_the_lambda(call: str) -> None:
    new = rewritten(f"tx = {call}\n", ["learning_rate"])
    assert "lambda" not in new
    around = f"optax.inject_hyperparams(lambda learning_rate: {CALLS[call]})(learning_rate=0.1)"
    assert_same(trained(made(new)), trained(made(f"tx = {around}\n")))


def test_what_is_injected_without_need_has_other_bits() -> None:
    # Which is why all else is static.
    everything = made("tx = optax.inject_hyperparams(optax.adam)(learning_rate=0.1)\n")
    rate_alone = made(rewritten("tx = optim.Adam(0.1)\n", ["learning_rate"]))
    (params, _), (other, _) = trained(everything), trained(rate_alone)
    assert any((params[name] != other[name]).any() for name in PARAMS)
