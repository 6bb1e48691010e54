"""Optax's namesakes, where a user accepts other numbers, and how far off these are."""

from __future__ import annotations

import re

import pytest

from flaxoptim_compat.migrate.editing.edits import Edit, apply_edits
from flaxoptim_compat.migrate.optax_text.accepted import has_namesake, measured
from flaxoptim_compat.migrate.optax_text.text import chain
from tests.support.optax_texts import NAMES, bound_in, document


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
    assert has_namesake(bound) == (bound.name != "Adam")


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
