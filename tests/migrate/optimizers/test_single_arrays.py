"""Which parameters are seen to be one array, of which Flax's own TrainState can do no step."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import in_one_line_each, rewrite

PROGRAM = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import optim

START = {{"w": jnp.ones(3), "size": jnp.zeros(())}}
key = jax.random.PRNGKey(0)


def vector():
    return jnp.ones(3)


def pair(key):
    return jax.random.normal(key, (3,)), {{"w": 1.0}}


def tree(scale):
    return {{"w": scale * jnp.ones(3)}}


class Agent:
    def __init__(self, first=jnp.log(0.5)):
        self.alpha = jnp.zeros(())
        self.rest = dict(w=self.alpha)
        self.first = first

        self.named = {{"w": jnp.zeros(2), "both": {{"w": 1.0}}}}

    def make(self, params):
        return optim.Adam(0.1).create(params)

    def of_field(self):
        return optim.Adam(0.1).create(self.alpha)

    def of_entry(self):
        return optim.Adam(0.1).create(self.named["w"])

    def of_nested(self):
        return optim.Adam(0.1).create(self.named["both"])

    def of_others(self):
        return optim.Adam(0.1).create(self.rest)


def fit(x):
    return optim.Adam(0.1).create(x)


def train(one, other, flag):
    rng = np.random.default_rng(0)
    x = np.ones(3)
    a, b = pair(key)
    y = one if flag else tree(2)
    {line}
"""
ONE = [
    "optim.Adam(0.1).create(2 * x)",
    "optim.Adam(0.1).create(-x.reshape(3, 1).astype(jnp.float32))",
    "optim.Adam(0.1).create(vector())",
    "optim.Adam(0.1).create(x[0])",
    "optim.Adam(0.1).create(START['size'])",
    "optim.Adam(0.1).create(target=3.0)",
    "fit(x); fit(one)",
    "fit(x=vector())",
    "Agent().of_field()",
    "Agent().of_entry()",
    "optim.Adam(0.1).create(rng.uniform(size=3))",
    "jax.vmap(fit)(jnp.ones((2, 3)))",
]
NOT_SEEN = [
    "optim.Adam(0.1).create(one)",
    "optim.Adam(0.1).create(b)",
    "optim.Adam(0.1).create(y)",
    "optim.Adam(0.1).create(tree(0.5))",
    "optim.Adam(0.1).create([x, x])",
    "optim.Adam(0.1).create(one.copy())",
    "Agent().of_others()",
    "Agent().of_nested()",
    "jax.vmap(fit)(START)",
]


def text(line: str) -> str:
    """With no more of the program than the line needs, since one array makes all of them stay."""
    program = PROGRAM.replace("{line}", line).replace("{{", "{").replace("}}", "}")
    for method in ("of_field", "of_others", "of_entry", "of_nested"):
        if method not in line:
            start = program.index(f"    def {method}(")
            program = (
                program[:start] + program[program.index("create(", start) :].partition("\n")[2]
            )
    return program


@pytest.mark.parametrize("line", ONE)
def test_one_array_is_moved_by_the_state_that_takes_one(line: str) -> None:
    rewritten = in_one_line_each(rewrite(text(line), "optax"))
    assert ".to_train_state(inject=False)" in rewritten
    assert "(one).to_train_state" not in rewritten


@pytest.mark.parametrize("line", NOT_SEEN)
def test_what_may_be_a_tree_is_taken_by_that_of_flax(line: str) -> None:
    rewritten = rewrite(text(line), "optax")
    assert "TrainState.create(" in rewritten
    assert "to_train_state" not in rewritten
