"""FOC163 and FOC173: lists where jax takes arrays only, each made an array."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from flaxoptim_compat.legacy.calls.tables import ENTRIES
from flaxoptim_compat.legacy.took_lists import TOOK_LISTS
from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names.dotted import call_of
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.fragments import replaced, span
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
# {function: {old name of an argument: the name that FOC166 writes}}
_TODAY = {
    name: {each.name: each.today for each in row.parameters}
    for row in ENTRIES
    for name in row.names.split()
}
# These functions need the numbers of this argument at compile time.
_WANT_NUMBERS = frozenset(
    f"jax.numpy.{name}"
    for name in (
        *("argwhere", "compress", "extract", "flatnonzero", "intersect1d", "ix_", "nonzero"),
        *("repeat", "roots", "setdiff1d", "trim_zeros", "unique"),
    )
)
_LISTS = (ast.List, ast.Tuple, ast.ListComp)


def find(code: str, reading: Reading) -> Iterator[FoundPlace]:
    """The lists that one of these rules is about."""
    yield from _arguments(reading) if code == "FOC163" else _indices(reading)


def _arguments(reading: Reading) -> Iterator[FoundPlace]:
    """Lists given to functions of jax.numpy that take arrays only."""
    for use in reading.names.uses:
        name = name_of_today(use.name)
        call = call_of(reading.document, use.node) if name in _ARGUMENTS else None
        if call is not None:
            for node in _lists_in(call, _ARGUMENTS[name], _TODAY.get(name, {})):
                maker = "numpy:asarray" if name in _WANT_NUMBERS else "jax.numpy:asarray"
                what = f"a list for an array in a call of {name}"
                yield _made(reading, node, what, maker.replace(":", "."), maker)


def _lists_in(call: ast.Call, arguments: list[str], today: Mapping[str, str]) -> Iterator[ast.expr]:
    if any(isinstance(each, ast.Starred) for each in call.args):
        return
    if arguments == ["*"]:
        arguments = arguments * len(call.args)
    pairs = [*zip(arguments, call.args, strict=False)]
    by_name = {each.removesuffix("[]"): each for each in arguments}
    for each in call.keywords:
        name = today.get(each.arg or "", each.arg or "")
        pairs += [(by_name[name], each.value)] if name in by_name else []
    for name, node in pairs:
        nodes = [node]
        if name.endswith("[]"):
            nodes = [node.elt] if isinstance(node, ast.ListComp) else getattr(node, "elts", [])
        yield from (each for each in nodes if isinstance(each, _LISTS))


def _indices(reading: Reading) -> Iterator[FoundPlace]:
    """Lists that are used as indices of arrays."""
    for node in reading.document.of_kind(ast.Subscript) if "[[" in reading.document.text else ():
        is_list = isinstance(node.slice, ast.List) and not any(map(_is_slice, node.slice.elts))
        if is_list and is_array(reading, node.value):
            what = "a list as the index of an array of jax"
            yield _made(reading, node.slice, what, "jax.numpy.asarray of the list")


def _is_slice(node: ast.expr) -> bool:
    """True if a list with such an element stood for a tuple."""
    if isinstance(node, ast.Constant):
        return node.value in (None, ...)
    return isinstance(node, (*_LISTS, ast.Call))


def _made(
    reading: Reading, node: ast.expr, what: str, instead: str, maker: str = "jax.numpy:asarray"
) -> FoundPlace:
    def edits(imports: ImportPlan) -> tuple[Edit, ...]:
        function = imports.name_of(maker, node)
        return (replaced(reading, node, f"{function}(", span(reading, node), ")"),)

    return FoundPlace(node, what, instead, edits)
