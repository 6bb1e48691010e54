"""Arrays of jax that are indexed by lists."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Span
from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.evident_arrays import is_array

RULE = Rule(
    code="FOC173",
    name="list-indices",
    summary="an array of jax that is indexed by a list",
    what="The list is made an array: `x[[0, 1]]` becomes `x[jnp.asarray([0, 1])]`.",
    why="jax raises a TypeError; arrays of numpy still take lists.",
    refuses=(
        "Where it is not evident that it is an array of jax: parameters of functions, attributes,"
        " what comes from other functions of the program."
    ),
    examples=(
        Example(
            before="import jax.numpy as jnp\n\nx = jnp.arange(3)\nprint(x[[0, 1]])\n",
            shim="import jax.numpy as jnp\n\nx = jnp.arange(3)\nprint(x[jnp.asarray([0, 1])])\n",
            optax="import jax.numpy as jnp\n\nx = jnp.arange(3)\nprint(x[jnp.asarray([0, 1])])\n",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Lists that are used as indices of arrays, each with the edit that makes it an array."""
    if "[[" not in reading.document.text:
        return
    for node in reading.document.of_kind(ast.Subscript):
        if not isinstance(node.slice, ast.List):
            continue
        if not is_array(reading, node.value) or not reading.allows(RULE.code, node):
            continue
        start, end = reading.document.span(node.slice)
        change = Change(functools.partial(_edits, node, Span(start, end)))
        what = "a list as the index of an array of jax"
        instead = "jax.numpy.asarray of the list"
        yield Finding(RULE.code, start, end, what, instead, change, change)


def _edits(node: ast.Subscript, indices: Span, imports: ImportPlan) -> tuple[Edit, ...]:
    maker = imports.name_of("jax.numpy:asarray", node)
    return (Edit(*indices, (f"{maker}(", indices, ")")),)
