"""Calls of functions that are still there, with arguments that they do not take any more."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.legacy.calls.row import Call
from flaxoptim_compat.legacy.calls.tables import ENTRIES
from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.compiled_results import is_partial
from flaxoptim_compat.migrate.successors.evident_arrays import is_array
from flaxoptim_compat.migrate.successors.linen_modules import (
    ATTENTION,
    attention_takes_mask,
    is_own_module,
)
from flaxoptim_compat.migrate.successors.old_arguments import OldCall, old_call
from flaxoptim_compat.migrate.successors.successor import name_of_today

_BEFORE = """\
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.checkpoint, concrete=False)
def loss(x):
    x = jnp.reshape(jnp.clip(x, a_min=0.0, a_max=1.0), newshape=(2, -1))
    return jnp.percentile(jax.lax.dot(x, x.T, None), 90, interpolation="lower")
"""
_AFTER = """\
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.checkpoint)
def loss(x):
    x = jnp.reshape(jnp.clip(x, min=0.0, max=1.0), shape=(2, -1))
    return jnp.percentile(jax.lax.dot(x, x.T, precision=None), 90, method="lower")
"""
_LEFT = """\
import jax.numpy as jnp


def clipped(x, **bounds):
{mark}    return jnp.clip(x, a_min=0.0, **bounds)
"""
_MARK = (
    "    # FOC166: jax.numpy.clip does not take a_min any more, and what is unpacked here is\n"
    "    #   not known: write jax.numpy.clip(x, min=..., max=...)\n"
)

RULE = Rule(
    code="FOC166",
    name="old-arguments",
    summary="a call of a function that is still there, with arguments that it does not take today",
    what=(
        "An argument gets the name that it has today, is given by its name or by its place where"
        " it is taken only so, and goes where it changes nothing: `jnp.reshape(x, newshape=(3,))`"
        " becomes `jnp.reshape(x, shape=(3,))`, `jax.lax.dot(x, y, precision)` becomes"
        " `jax.lax.dot(x, y, precision=precision)`, and `jax.nn.softmax(x, initial=None)` becomes"
        " `jax.nn.softmax(x)`. So does what is given to `functools.partial` with the function."
        " The functions are those of [served calls](../served_calls.md). Methods are found where"
        " it is evident what has them: arrays that the file makes, and `self` of a module."
    ),
    why=(
        "jax and flax raise a TypeError, or will with their newest versions. The new call gives"
        " what `flaxoptim-compat run` gives for the old one. All versions that are supported take"
        " it."
    ),
    refuses=(
        "Where `*args` or `**kwargs` are unpacked in the call, where an argument that is gone was"
        " more than its default or is computed in the call, where arguments would change their"
        " order, and where other names are not all, as with shardings that `jax.jit` is given by"
        " their places. The finding says what to write. Not found are calls that only values tell"
        " from those of today, such as `jax.random.fold_in(key, -1)`, methods of what a function is"
        " given or comes from elsewhere, and functions that the file itself puts into the module."
    ),
    examples=(
        Example(before=_BEFORE, shim=_AFTER, optax=_AFTER),
        Example(
            before=_LEFT.format(mark=""),
            shim=_LEFT.format(mark=_MARK),
            optax=_LEFT.format(mark=_MARK),
        ),
    ),
)
_ROWS = {name.removesuffix(".__init__"): row for row in ENTRIES for name in row.names.split()}
# Their methods, which other objects have as well.
_OF_ARRAYS, _OF_MODULES = (
    {name.removeprefix(kind): row for name, row in _ROWS.items() if name.startswith(kind)}
    for kind in ("jax.Array.", "flax.linen.Module.")
)
_OF_ATTENTION = _ROWS[f"{ATTENTION}.__call__"]
_METHODS = (*_OF_ARRAYS.values(), *_OF_MODULES.values(), _OF_ATTENTION)
_FUNCTIONS = {name: row for name, row in _ROWS.items() if row not in _METHODS}


def find(reading: Reading) -> Iterator[Finding]:
    """The calls that are an error today, each with the edits that make it one of today."""
    parents = reading.document.parents
    stored = {
        use.name
        for use in reading.names.uses
        if isinstance(getattr(use.node, "ctx", None), ast.Store)
    }
    for use in reading.names.uses:
        name = name_of_today(use.name)
        row = _FUNCTIONS.get(name)
        if row is None or isinstance(use.node, ast.alias) or use.name in stored:
            continue
        call = parents[use.node]
        if not isinstance(call, ast.Call):
            continue
        is_given = call.args[:1] == [use.node] and is_partial(reading, call)
        if call.func is use.node or is_given:
            old = old_call(reading.document, call, row, is_partial=is_given)
            if old is not None and reading.allows(RULE.code, use.node):
                yield _finding(reading, name, row, use.node, old)
    yield from _methods(reading)
    if ATTENTION.rpartition(".")[2] in reading.document.text:
        yield from _attention(reading)


def _methods(reading: Reading) -> Iterator[Finding]:
    """The calls of methods of arrays that the file makes, and of modules in these themselves."""
    text = reading.document.text
    if not any(f".{name}(" in text for name in (*_OF_ARRAYS, *_OF_MODULES)):
        return
    for call in reading.document.of_kind(ast.Call):
        if not isinstance(call.func, ast.Attribute):
            continue
        name, holder = call.func.attr, call.func.value
        for rows, is_one in ((_OF_ARRAYS, is_array), (_OF_MODULES, is_own_module)):
            row = rows.get(name)
            if row is None or not (call.args or call.keywords):
                continue
            old = old_call(reading.document, call, row)
            if old is not None and is_one(reading, holder) and reading.allows(RULE.code, call):
                yield _finding(reading, row.names.split()[0], row, call.func, old)


def _attention(reading: Reading) -> Iterator[Finding]:
    """The calls of attention whose third input is its mask."""
    for call in reading.document.of_kind(ast.Call):
        is_old = attention_takes_mask(reading, call)
        if is_old is False:
            continue
        old = old_call(reading.document, call, _OF_ATTENTION)
        if old is not None and reading.allows(RULE.code, call):
            if is_old is None:
                old = old._replace(edits=(), doubt="that it is a mask only its name says")
            yield _finding(reading, ATTENTION, _OF_ATTENTION, call.func, old)


def _finding(reading: Reading, name: str, row: Call, node: ast.expr, old: OldCall) -> Finding:
    start, end = reading.document.span(node)
    what = f"{name} does not take {old.refused} any more"
    if not old.edits:
        doubt = f", and {old.doubt}" if old.doubt else ""
        reason = f"{what}{doubt}: write {row.today}"
        return Finding(RULE.code, start, end, what, row.today, None, None, reason=reason)
    uses = [
        each.node
        for each in reading.names.uses
        if isinstance(each.node, ast.expr)
        and any(each.node in ast.walk(value) for value in old.dropped)
    ]
    change = Change(old.edits, drops=tuple(uses))
    return Finding(RULE.code, start, end, what, row.today, change, change)
