"""The imports that a file has: names are reached through them, and some are kept for others."""

from __future__ import annotations

import pytest

from tests.migrate.editing.planned_imports import File

EXPRESSIONS = {
    ("import optax\nHERE", "optax"): "optax",
    ("import optax as ox\nHERE", "optax"): "ox",
    ("import optax as ox\nHERE", "optax:adam"): "ox.adam",
    ("from optax import adam\nHERE", "optax:adam"): "adam",
    ("import jax.numpy as jnp\nHERE", "jax.numpy:prod"): "jnp.prod",
    ("from jax import numpy as jnp\nHERE", "jax.numpy:prod"): "jnp.prod",
    ("import jax\nHERE", "jax.numpy:prod"): "jax.numpy.prod",
    ("import jax\nHERE", "jax.tree.map"): "jax.tree.map",
    ("import jax\nHERE", "jax:tree.map"): "jax.tree.map",
    ("import jax\nfrom jax import tree\nHERE", "jax.tree:map"): "tree.map",
    ("from functools import partial as p\nHERE", "functools:partial"): "p",
    ("import functools\nHERE", "functools:partial"): "functools.partial",
    ("import jax.experimental.pjit\nHERE", "jax.experimental.pjit"): "jax.experimental.pjit",
    ("from flax.training import train_state as ts\nHERE", "flax.training.train_state"): "ts",
    ("def f():\n    import optax\n    HERE", "optax"): "optax",
    ("import optax; HERE", "optax"): "optax",
    ("HERE", "builtins:float"): "float",
}


@pytest.mark.parametrize(("text", "wanted"), EXPRESSIONS)
def test_uses_what_is_imported(text: str, wanted: str) -> None:
    file = File(text)
    assert file.name_of(wanted) == EXPRESSIONS[text, wanted]
    assert file.result() == text


KEPT = "from numpy import float\nfloat"


def test_what_a_package_passes_on_is_kept() -> None:
    file = File(KEPT, "p", is_package=True)
    file.release("numpy.float")
    assert file.result() == KEPT


def test_what_other_files_take_is_kept() -> None:
    file = File(KEPT, "p.q", needed={"float"})
    file.release("numpy.float")
    assert file.result() == KEPT
    file = File(KEPT, "p.q", needed={"int"})
    file.release("numpy.float")
    assert file.result() == "float"


def test_what_a_package_passes_on_is_redirected() -> None:
    file = File(KEPT, "p", is_package=True)
    file.release("numpy.float")
    file.redirect("numpy.float", "numpy:float64")
    assert file.result() == "from numpy import float64 as float\nfloat"
