"""Constructor calls: which are left alone, which have no text, and which become a namesake."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.editing.edits import Edit, apply_edits
from flaxoptim_compat.migrate.optax_text.accepted import has_namesake, measured
from flaxoptim_compat.migrate.optax_text.binding import Refused
from flaxoptim_compat.migrate.optax_text.text import chain
from tests.support.optax_texts import NAMES, bound_in, call_in, document, read, rewritten
from tests.support.processes import output_of


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("Adam(*args)", "takes its arguments from *,"),
        ("Adam(1e-3, **cfg)", "takes its arguments from **,"),
        ("Adam(1e-3, beta3=0.9)", "Adam takes other arguments: learning_rate, beta1"),
        ("GradientDescent(1e-3, 0.9)", "GradientDescent takes other arguments: learning_rate"),
        ("Adam('fast')", "learning_rate of Adam is no number"),
        ("Adam(lambda step: 0.1)", "learning_rate of Adam is no number"),
        ("Adam(True)", "learning_rate of Adam is True"),
        ("Adam(beta1=None)", "beta1 of Adam is None"),
        ("Momentum(0.1, nesterov=None)", "nesterov of Momentum is None"),
        ("Adafactor(1e-3, beta1=cfg.beta1)", "beta1 of Adafactor decides which optax it is"),
        ("Adafactor(1e-3, multiply_by_parameter_scale=m)", "multiply_by_parameter_scale of"),
        ("Adafactor(1e-3, dtype_momentum=dtype())", "dtype_momentum of Adafactor is computed"),
        ("AdaBelief(1e-3, eps=get_eps())", "eps of AdaBelief is computed by a call"),
        ("WeightNorm(inner)", "the optimizer in the WeightNorm is not known here"),
        ("WeightNorm(optim.WeightNorm(optim.Adam(0.1)))", "a WeightNorm in a WeightNorm"),
        ("WeightNorm(optim.MultiOptimizer())", "MultiOptimizer has no text in optax"),
    ],
)
def test_what_is_left_alone(call: str, reason: str) -> None:
    with pytest.raises(Refused, match=re.escape(reason)):
        read(call_in(document(f"optim.{call}\n")))


@pytest.mark.parametrize(
    ("call", "injected", "reason"),
    [
        ("Adam()", [], "there is no learning rate"),
        ("WeightNorm(optim.Adam())", ["wn_decay"], "there is no learning rate"),
        ("Adam(0.1)", ["momentum"], "Adam has no hyper-parameter momentum"),
        ("Adam(0.1)", ["beta1"], "beta1 given with each step has fewer digits"),
        ("Momentum(0.1)", ["nesterov"], "nesterov cannot be given with each step"),
        ("Adafactor(0.1)", ["weight_decay_rate"], "weight_decay_rate is None here"),
        ("WeightNorm(optim.Adam(0.1))", ["wrapped_optimizer"], "no hyper-parameter"),
    ],
)
def test_what_has_no_text(call: str, injected: list[str], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        rewritten(f"optim.{call}\n", injected)


def test_scan_can_do_without_jax(tmp_path: Path) -> None:
    program = """
import sys
from flaxoptim_compat.migrate.editing import layout
from flaxoptim_compat.migrate.optax_text import accepted, binding, text
print([name for name in ("jax", "flax", "optax", "numpy") if name in sys.modules])
"""
    assert output_of(["-c", program], tmp_path) == "[]\n"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("Adagrad(lr, eps=1e-4)", "optax.adagrad(lr, initial_accumulator_value=0.0, eps=1e-8)"),
        ("Adagrad(lr, eps=e)", "optax.adagrad(lr, initial_accumulator_value=0.0, eps=pow(e, 2))"),
        ("LAMB(lr, weight_decay=w)", "optax.lamb(lr, weight_decay=w)"),
        ("LARS(lr, nesterov=n)", "optax.lars(lr, nesterov=n)"),
        (
            "Adafactor(lr, beta1=0.9)",
            "optax.adafactor(lr, momentum=0.9, dtype_momentum=jnp.float32)",
        ),
        ("Adafactor(lr, clipping_threshold=None)", "optax.adafactor(lr, clipping_threshold=None)"),
        ("Adam(lr)", "optax.adam(lr)"),
    ],
)
def test_namesakes(call: str, expected: str) -> None:
    text = f"optim.{call}\n"
    each, bound = document(text), bound_in(text)
    parts = chain(bound, each, NAMES.__getitem__, plain=True)
    new = apply_edits(text, [Edit(*each.span(bound.call), parts)])
    assert new == f"{expected}\n"
    assert has_namesake(bound.name) == (bound.name != "Adam")


def test_how_far_namesakes_are_off() -> None:
    found = re.fullmatch(
        "after 20 steps of a small model the parameters differ by (.*) of the distance travelled,"
        " with learning_rate=0.01 and eps=1e-08 assumed",
        measured(bound_in("optim.Adagrad(cfg.lr, eps=cfg.eps)\n")),
    )
    assert found is not None
    assert 0.01 < float(found[1]) < 0.1
    found = re.fullmatch(
        "after 20 steps of a small model the parameters differ by (.*) of the distance travelled",
        measured(bound_in("optim.LARS(0.1, weight_decay=0.1)\n")),
    )
    assert found is not None
    assert 1e-3 < float(found[1]) < 0.1
