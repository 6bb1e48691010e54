"""FOC163 and FOC173: lists where jax takes arrays only, each made an array."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from flaxoptim_compat.legacy.calls.tables import ENTRIES
from flaxoptim_compat.legacy.took_lists import TOOK_LISTS
from flaxoptim_compat.migrate.editing.edits import Edit, Span
from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.successors.evident_values import is_array
from flaxoptim_compat.migrate.successors.successor import name_of_today

RULES = (
    Rule("FOC163", "lists-for-arrays"),
    Rule("FOC173", "list-indices"),
)
_ARGUMENTS = {
    f"{module}.{name}": arguments.split()
    for module, functions in TOOK_LISTS.items()
    for name, arguments in functions.items()
}
# The names of today for those that FOC166 writes anew.
_TODAY = {
    name: {each.name: each.today for each in row.parameters}
    for row in ENTRIES
    for name in row.names.split()
}
# What these are given has to be known when they are compiled.
_WANT_NUMBERS = frozenset(
    f"jax.numpy.{name}"
    for name in (
        *("argwhere", "compress", "extract", "flatnonzero", "intersect1d", "ix_", "nonzero"),
        *("repeat", "roots", "setdiff1d", "trim_zeros", "unique"),
    )
)
_LISTS = (ast.List, ast.Tuple, ast.ListComp)


def find(code: str, reading: Reading) -> Iterator[Finding]:
    """The lists that one of these rules is about."""
    yield from _arguments(reading) if code == "FOC163" else _indices(reading)


def _arguments(reading: Reading) -> Iterator[Finding]:
    """Lists given to functions of jax.numpy that take arrays only."""
    parents = reading.document.parents
    for use in reading.names.uses:
        name = name_of_today(use.name)
        arguments = _ARGUMENTS.get(name)
        if arguments is None or isinstance(use.node, ast.alias):
            continue
        call = parents[use.node]
        if not isinstance(call, ast.Call) or call.func is not use.node:
            continue
        for node in _lists_in(call, arguments, _TODAY.get(name, {})):
            if reading.allows("FOC163", node):
                what = f"a list for an array in a call of {name}"
                numbers = name in _WANT_NUMBERS and _is_known(node)
                maker = "numpy:asarray" if numbers else "jax.numpy:asarray"
                instead = maker.replace(":", ".")
                yield _finding(reading, "FOC163", node, what, instead, maker)


def _lists_in(call: ast.Call, arguments: list[str], today: Mapping[str, str]) -> Iterator[ast.expr]:
    if any(isinstance(each, ast.Starred) for each in call.args):
        return
    if arguments == ["*"]:
        yield from (each for each in call.args if isinstance(each, _LISTS))
        return
    given = [*zip(arguments, call.args, strict=False)]
    by_name = {each.removesuffix("[]"): each for each in arguments}
    for each in call.keywords:
        name = each.arg or ""
        given.append((by_name.get(today.get(name, name), "-"), each.value))
    for name, node in given:
        if name.endswith("[]"):
            yield from (each for each in _elements(node) if isinstance(each, _LISTS))
        elif name != "-" and isinstance(node, _LISTS):
            yield node


def _elements(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.List | ast.Tuple):
        return node.elts
    return [node.elt] if isinstance(node, ast.ListComp) else []


def _is_known(node: ast.expr) -> bool:
    """Whether all of its elements are written out."""
    known = (ast.List, ast.Tuple, ast.Constant, ast.UnaryOp, ast.USub, ast.Load)
    return all(isinstance(each, known) for each in ast.walk(node))


def _indices(reading: Reading) -> Iterator[Finding]:
    """Lists that are used as indices of arrays."""
    if "[[" not in reading.document.text:
        return
    for node in reading.document.of_kind(ast.Subscript):
        if not isinstance(node.slice, ast.List):
            continue
        if is_array(reading, node.value) and reading.allows("FOC173", node):
            what = "a list as the index of an array of jax"
            maker = "jax.numpy:asarray"
            if any(_belongs_to_a_tuple(each) for each in node.slice.elts):
                maker = "builtins:tuple"
            instead = f"{maker.removeprefix('builtins:').replace(':', '.')} of the list"
            yield _finding(reading, "FOC173", node.slice, what, instead, maker)


def _belongs_to_a_tuple(node: ast.expr) -> bool:
    """Whether it is evident that a list with this in it stood for a tuple."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "slice"
    is_slice = isinstance(node, ast.Constant) and node.value in (None, ...)
    return is_slice or isinstance(node, _LISTS)


def _finding(
    reading: Reading, code: str, node: ast.expr, what: str, instead: str, maker: str
) -> Finding:
    span = Span(*reading.document.span(node))

    def edits(imports: ImportPlan) -> tuple[Edit, ...]:
        return (Edit(*span, (f"{imports.name_of(maker, node)}(", span, ")")),)

    return Finding(code, *span, what, instead, Change(edits), Change(edits))
