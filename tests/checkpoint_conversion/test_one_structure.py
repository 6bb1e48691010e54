"""One definition has one TrainState, whoever makes it: each restores into each of the others.

There is one with the rate in the state, one with the rate built in, and one with a function of the
step in its place.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import serialization
from flax.training.train_state import TrainState

from flaxoptim_compat import optax_source, optim, to_optax
from tests.support import cases
from tests.support.cases import Case
from tests.support.checkpoint_conversions import converted, with_moments, written
from tests.support.optax_texts import made, rewritten, rewritten_parts, spelled
from tests.support.options import each_case
from tests.support.side_by_side import assert_same
from tests.support.training import create

RATE = "learning_rate"


def program(entry: Case, rate: str) -> Any:
    """What ``rewrite --to optax`` writes for the definition; or by hand, with a schedule."""
    text, cfg = spelled(entry, "keywords")
    if rate == "scheduled":
        text = re.sub(r"learning_rate=[\w.-]+", "learning_rate=rate_at", text)
    write = rewritten_parts if entry.optimizer == "MultiOptimizer" else rewritten
    new = write(text, [RATE] if rate == "settable" else ())
    new = _scheduled(new) if rate == "scheduled" else new
    return made(new, cfg=cfg, rate_at=lambda step: 0.1 / (1 + step))


def _scheduled(text: str) -> str:
    """A text in which a function of the step is given to transformations that take only numbers."""
    tree = ast.parse(text)
    (assigned,) = (each for each in tree.body if isinstance(each, ast.Assign))
    match assigned.value:
        case ast.Call(args=[ast.Dict() as parts, *_]):
            parts.values = list(map(_with_schedule, parts.values))
        case _:
            assigned.value = _with_schedule(assigned.value)
    return ast.unparse(tree)


def _with_schedule(node: ast.expr) -> ast.expr:
    given = re.findall(r"([\w.]+)\(rate_at", ast.unparse(node))
    if all(each.startswith("optax.") and each != "optax.scale" for each in given):
        return node
    written = ast.unparse(node).replace("rate_at", RATE)
    text = f"optax.inject_hyperparams(lambda {RATE}: {written})({RATE}=rate_at)"
    return ast.parse(text, mode="eval").body


def of_source(definition: Any, params: Any) -> Any:
    scope: dict[str, Any] = {}
    exec(optax_source(definition, params), scope)
    return scope["tx"]


def fresh(tx: optax.GradientTransformation, params: Any) -> TrainState:
    return TrainState.create(apply_fn=None, params=params, tx=tx)


def restored_into_each_other(states: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    """Every file into every state, with the values that the file holds."""
    contents = files | {name: serialization.to_bytes(state) for name, state in states.items()}
    for (who, state), (whose, content) in itertools.product(states.items(), contents.items()):
        restored = serialization.from_bytes(state, content)
        assert jax.tree.structure(restored) == jax.tree.structure(state), (who, whose)
        assert_same(serialization.msgpack_restore(content), serialization.to_state_dict(restored))
        for mine, its in zip(jax.tree.leaves(state), jax.tree.leaves(restored), strict=True):
            assert np.shape(mine) == np.shape(its), (who, whose)


def restored_whoever_makes_it(entry: Case, rate: Any, path: Path) -> None:
    optimizer = with_moments(create(entry, optim))
    definition, params = optimizer.optimizer_def, optimizer.target
    states = {"rewrite": fresh(program(entry, rate), params)}
    source = written(path, optimizer)
    options = {"definitions": definition, "rate": rate, "fits": states["rewrite"]}
    file = converted(source, "train-state", **options)
    if rate != "scheduled":
        states["to_train_state"] = optimizer.to_train_state(inject=rate == "settable")
        assert file == serialization.to_bytes(states["to_train_state"])
        said = entry.without_rate().build(optim) if rate == "settable" else definition
        states["optax_source"] = fresh(of_source(said, params), params)
    if rate == "settable":
        states["to_optax"] = fresh(to_optax(definition, params), params)
    restored_into_each_other(states, {"convert": file})


@pytest.mark.parametrize("rate", ["settable", "fixed", "scheduled"])
@pytest.mark.parametrize("entry", each_case())
def test_every_optimizer(entry: Case, rate: str, tmp_path: Path) -> None:
    restored_whoever_makes_it(entry, rate, tmp_path / "legacy")


@pytest.mark.parametrize("rate", ["settable", "fixed", "scheduled"])
def test_a_focus(rate: str, tmp_path: Path) -> None:
    # LARS takes no function of the step in optax.
    for entry in (cases.case("Adam-all"), cases.case("LARS-default")):
        focused = Case("", "MultiOptimizer", {}, (entry,), ("kernel",))
        restored_whoever_makes_it(focused, rate, tmp_path / entry.name)


def test_a_value_that_is_not_written_out(tmp_path: Path) -> None:
    optimizer = optim.Adam(0.1, weight_decay=0.01).create({"w": jnp.ones(3)})
    source = written(tmp_path / "legacy", optimizer)
    unsaid: Any = ...
    definition = optim.Adam(unsaid, weight_decay=unsaid)
    content = converted(source, "train-state", definitions=definition, rate="fixed")
    assert content == serialization.to_bytes(optimizer.to_train_state(inject=False))
