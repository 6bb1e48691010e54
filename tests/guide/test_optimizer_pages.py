"""``migration_guide/optimizers``: its calls, numbers and tables are those of the code."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from flaxoptim_compat import optax_source, optim, parity
from flaxoptim_compat.parity import trial
from flaxoptim_compat.parity.survey import final_error
from tests.support.optimizer_pages import (
    FOLDER,
    PAGES,
    START,
    definition,
    evaluated,
    gradient,
    section,
)
from tests.support.options import params
from tests.support.pages import blocks
from tests.support.side_by_side import assert_same

SECTIONS = [
    "Formula",
    "The old call",
    "In optax",
    "What else would change",
    "Mistakes",
    "Checkpoints",
]
# What a version of jax, flax or optax may change of a measured error.
FACTOR = 1.5
# Below this an error is rounding, which a page shows as 0.
ROUNDING = 5e-6


def test_the_folder_has_a_page_for_every_optimizer() -> None:
    files = {path.name for path in FOLDER.glob("*.md")}
    assert files == {f"{name.lower()}.md" for name in PAGES} | {"README.md", "dynamic_scale.md"}


@pytest.mark.parametrize("name", PAGES)
def test_the_sections_are_the_same_on_every_page(name: str) -> None:
    assert PAGES[name].startswith(f"# {name}\n\n")
    assert re.findall("^## (.*)$", PAGES[name], re.MULTILINE) == SECTIONS


# --- calls


@pytest.mark.parametrize("name", PAGES)
def test_the_old_call_has_the_defaults_of_the_class(name: str) -> None:
    (code,) = blocks(section(name, "The old call"), "py")
    call = ast.parse(code.strip(), mode="eval").body
    assert isinstance(call, ast.Call) and ast.unparse(call.func) == f"optim.{name}"
    shown = [(ast.unparse(each), inspect.Parameter.empty) for each in call.args]
    shown += [(str(each.arg), evaluated(ast.unparse(each.value))) for each in call.keywords]
    signature = inspect.signature(getattr(optim, name)).parameters.values()
    assert shown == [(each.name, each.default) for each in signature]


def in_optax() -> list[Any]:
    found = []
    for name in PAGES:
        text = section(name, "In optax")
        pairs = list(zip(blocks(text, "py"), blocks(text, "python"), strict=True))
        assert pairs and text.count("```") == 4 * len(pairs)
        found += [pytest.param(*pair, id=pair[0].strip()) for pair in pairs]
    return found


@pytest.mark.parametrize(("legacy", "code"), in_optax())
def test_the_text_in_optax_is_exact(legacy: str, code: str) -> None:
    assert optax_source(evaluated(legacy)) == code
    scope: dict[str, Any] = {}
    exec(code, scope)
    params = {"kernel": jnp.asarray(START, jnp.float32), "bias": jnp.zeros(3)}

    @jax.jit
    def new_step(params: Any, state: Any, grads: Any) -> Any:
        updates, state = scope["tx"].update(grads, state, params)
        return optax.apply_updates(params, updates), state

    optimizer, state = evaluated(legacy).create(params), scope["tx"].init(params)
    old_step = jax.jit(lambda optimizer, grads: optimizer.apply_gradient(grads))
    for t in range(1, 4):
        grads = {"kernel": jnp.asarray(gradient(t), jnp.float32), "bias": jnp.full(3, 0.1 * t)}
        optimizer = old_step(optimizer, grads)
        params, state = new_step(params, state, grads)
    # Optax adds a difference to the parameter where WeightNorm sets it.
    assert_same(params, optimizer.target, ulps=2.0 if "WeightNorm" in legacy else 0.0)


# --- numbers

ROW = re.compile(r"^\| `([^|]*)` \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)
HEADING = re.compile(r"Instead of\s`(.*?)`")


def numbers() -> list[Any]:
    """All rows of the tables, each with the definition that the text before it names.

    Every run measures the first row of each table.
    """
    found = []
    for name in PAGES:
        text = section(name, "What else would change")
        pieces = HEADING.split(text)
        for legacy, rest in zip(pieces[1::2], pieces[2::2], strict=True):
            assert legacy.startswith(f"optim.{name}(")
            rows = ROW.findall(rest)
            assert len(rows) == rest.count("\n| ") - 2
            found += [(new, legacy, float(shown)) for new, _, shown in rows]
    first = {row[1]: row for row in reversed(found)}
    return params(found, first.values())


STEPS = 20


@functools.cache
def arrays() -> tuple[Any, Any]:
    """What ``flaxoptim-compat parity survey`` uses: parameters, and the gradients of each step."""
    params = {name: trial.parameters()[name] for name in ("dense", "norm")}
    return params, jax.jit(jax.vmap(lambda step: trial.gradients(params, step)))(jnp.arange(STEPS))


@functools.cache
def end(expression: str) -> Any:
    """The parameters after all steps."""
    made = evaluated(expression)
    params, grads = arrays()
    if isinstance(made, optim.OptimizerDef):

        def legacy(optimizer: Any, grads: Any) -> Any:
            return optimizer.apply_gradient(grads), None

        return jax.jit(lambda: jax.lax.scan(legacy, made.create(params), grads)[0].target)()

    def new(carry: Any, grads: Any) -> Any:
        updates, state = made.update(grads, carry[1], carry[0])
        return (optax.apply_updates(carry[0], updates), state), None

    return jax.jit(lambda: jax.lax.scan(new, (params, made.init(params)), grads)[0][0])()


def largest(a: Any, b: Any) -> float:
    return float(max(jax.tree.leaves(jax.tree.map(lambda x, y: jnp.abs(x - y).max(), a, b))))


def measured(legacy: str, new: str) -> float:
    """The error in parts of the distance travelled."""
    return largest(end(legacy), end(new)) / largest(end(legacy), arrays()[0])


@pytest.mark.parametrize(("new", "legacy", "shown"), numbers())
def test_the_errors_are_those_that_are_measured(new: str, legacy: str, shown: float) -> None:
    error = measured(legacy, new)
    if shown == 0:
        assert error < ROUNDING
    else:
        assert shown / FACTOR < error < shown * FACTOR


def test_they_are_measured_as_parity_does() -> None:
    # parity compiles for seconds, which would be too much for each of them.
    legacy, new = "optim.RMSProp(0.01)", "optax.rmsprop(0.01)"
    params, grads = arrays()
    each = [jax.tree.map(lambda leaf, step=step: leaf[step], grads) for step in range(STEPS)]
    report = parity.compare(evaluated(legacy), evaluated(new), params, each, tolerance=1e9)
    assert np.isclose(measured(legacy, new), final_error(report), rtol=1e-3)


# --- checkpoints


def field_map(name: str) -> list[tuple[str, str]]:
    made = definition(name, {})
    rows = []
    for kind, fields in made.formula.state_fields.items():
        if "count" in kind._fields:
            rows.append(("`state/step`", f"`{kind.__name__}.count`"))
        rows += [(f"`{legacy}`", f"`{kind.__name__}.{new}`") for new, legacy in fields.items()]
    return rows


@pytest.mark.parametrize("name", PAGES)
def test_the_fields_are_those_of_the_class(name: str) -> None:
    text = section(name, "Checkpoints")
    rows = re.findall(r"^\| (`.*`) \| (`.*`) \|$", text, re.MULTILINE)
    expected = field_map(name)
    assert rows == expected
    assert bool(expected) == ("has no state except the step." not in text)
