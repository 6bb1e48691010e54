"""Constructor calls as texts: what they become."""

from __future__ import annotations

import pytest

from flaxoptim_compat.migrate.editing.edits import Edit, apply_edits
from flaxoptim_compat.migrate.optax_text.text import chain
from tests.support.optax_texts import NAMES, PARAMS, bound_in, document, made, rewritten


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        # Numbers as they were written, and what optax assumes anyway only if it was written.
        ("Adam(0.001, 0.9, 0.98)", "optax.adam(0.001, b1=0.9, b2=0.98)"),
        ("Adam(learning_rate=2 * 1e-3, eps=1e-9)", "optax.adam(2 * 1e-3, eps=1e-9)"),
        ("Adam(lr, weight_decay=0)", "optax.adam(lr)"),
        ("Adam(lr, weight_decay=decay)", "optax.adamw(lr, weight_decay=decay)"),
        ("Adam(lr if warm else 0.1)", "optax.adam(lr if warm else 0.1)"),
        (
            "AdaBelief(lr, eps=cfg['eps'])",
            "optax.adabelief(lr, eps=cfg['eps'], eps_root=cfg['eps'])",
        ),
        ("Momentum(lr, cfg.beta)", "optax.sgd(lr, momentum=cfg.beta)"),
        ("Momentum(lr, nesterov=False)", "optax.sgd(lr, momentum=0.9)"),
        ("Momentum(lr, nesterov=n)", "optax.sgd(lr, momentum=0.9, nesterov=n)"),
        ("RMSProp(lr, centered=c)", "optax.rmsprop(lr, eps_in_sqrt=False, centered=c)"),
        ("WeightNorm(optim.Momentum(0.1))", "transforms.weight_norm(optax.sgd(0.1, momentum=0.9))"),
        # An integer is a float, as flax.optim made it.
        ("Momentum(1, beta=0)", "optax.sgd(1.0, momentum=0.0)"),
        ("Adagrad(1)", "optax.chain(transforms.scale_by_sum_of_squares(1.0), optax.scale(-1.0))"),
    ],
)
def test_texts(call: str, expected: str) -> None:
    assert rewritten(f"optim.{call}\n") == f"{expected}\n"


def test_a_rate_that_is_given_with_each_step() -> None:
    for arguments, written in (
        ("eps=1e-9", "learning_rate=0.0, eps=1e-9"),
        ("None", "learning_rate=0.0"),
        ("learning_rate=0.0", "learning_rate=0.0"),
        ("3, beta1=cfg.b", "learning_rate=3.0, b1=cfg.b"),
    ):
        assert rewritten(f"optim.Adam({arguments})\n", ["learning_rate"]) == (
            'optax.inject_hyperparams(optax.adam, static_args=("b1", "b2", "eps", "eps_root"))(\n'
            f"    {written}\n)\n"
        )


def test_the_names_of_the_file() -> None:
    names = {"optax": "ox", "jax.numpy": "jax.numpy", "flaxoptim_compat.transforms": "compat.t"}
    text = "optim.Adafactor(lr, beta1=0.9, factored=False, decay_rate=optax)\n"
    assert (
        rewritten(text, names=names)
        == """\
ox.chain(
    compat.t.in_float32(ox.scale_by_factored_rms(factored=False, decay_rate=optax)),
    ox.clip_by_block_rms(1.0),
    compat.t.scale_by_rate_and_parameter_rms(lr),
    ox.ema(0.9, debias=False, accumulator_dtype=jax.numpy.float32),
    ox.scale(-1.0),
)
"""
    )


def test_changes_inside_of_arguments_are_kept() -> None:
    text = "tx = optim.AdaBelief(jax.tree_map(f, x), eps=cfg.eps)\n"
    each = document(text)
    bound = bound_in(text)
    parts = chain(bound, each, NAMES.__getitem__)
    old = text.index("tree_map"), text.index("cfg")
    edits = [
        Edit(*each.span(bound.call), parts),
        Edit(old[0], old[0] + len("tree_map"), ("tree.map",)),
        Edit(old[1], old[1] + len("cfg"), ("config",)),
    ]
    changed = "optax.adabelief(jax.tree.map(f, x), eps=config.eps, eps_root=config.eps)"
    assert apply_edits(text, edits) == f"tx = {changed}\n"


def test_an_argument_of_several_lines() -> None:
    text = """\
optim.Adam(
    learning_rate=(
        cfg.rate *
        cfg.factor
    ),
    weight_decay=0.1,
)
"""
    cfg = type("Config", (), {"rate": 0.5, "factor": 0.25})
    assert "optax.adamw(cfg.rate * cfg.factor, weight_decay=0.1)" in rewritten(text)
    tx = made(f"tx = {rewritten(text)}", cfg=cfg)
    expected = made("tx = optax.adamw(0.125, weight_decay=0.1)\n")
    assert str(tx.update(PARAMS, tx.init(PARAMS), PARAMS)) == str(
        expected.update(PARAMS, expected.init(PARAMS), PARAMS)
    )


def test_what_is_computed_is_computed_once() -> None:
    calls: list[float] = []

    def compute(value: float) -> float:
        calls.append(value)
        return value

    text = "tx = optim.Momentum(0.1, weight_decay=compute(0.3))\n"
    for injected in ([], ["learning_rate"]):
        calls.clear()
        tx = made(rewritten(text, injected), compute=compute)
        tx.update(PARAMS, tx.init(PARAMS), PARAMS)
        assert calls == [0.3]
