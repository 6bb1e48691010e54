"""``jax.ops.index_update(x, jax.ops.index[i], y)`` as ``x.at[i].set(y)``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flaxoptim_compat.migrate.edits import Edit, Parts, Span
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.successors.arrays import is_array
from flaxoptim_compat.migrate.successors.places import Place, Rearranged, Rearrangement
from flaxoptim_compat.migrate.successors.successor import Successor

if TYPE_CHECKING:
    from flaxoptim_compat.migrate.imports import ImportPlan

_INDEX = "jax.ops.index"
_METHODS = {"update": "set", "add": "add", "mul": "multiply", "min": "min", "max": "max"}
_ARGUMENTS = ("x", "idx", "y", "indices_are_sorted", "unique_indices")


def _updating(method: str) -> Rearrangement:
    def rearrange(place: Place) -> Rearranged | None:
        call = place.call
        given = None if call is None else arguments_of(call)
        if call is None or given is None:
            return None
        index = given["idx"]
        inlined = _index_name(place.reading, index)
        inside = place.span(index) if inlined is None else _inside(place, index)
        known = is_array(place.reading, given["x"])

        def make(imports: ImportPlan) -> tuple[Edit, ...]:
            array: Parts = place.atom(given["x"])
            if not known:
                # It may be a list, or an array of numpy, which has no `at`.
                array = (
                    imports.name_of("jax.numpy:asarray", call),
                    "(",
                    place.span(given["x"]),
                    ")",
                )
            promises: list[str | Span] = []
            for name in _ARGUMENTS[3:]:
                if name in given:
                    promises += [f", {name}=", place.span(given[name])]
            parts = (*array, ".at[", inside, f"].{method}(", place.span(given["y"]), *promises, ")")
            return (Edit(*place.span(call), parts),)

        span = place.span(call)
        removed = () if inlined is None else (inlined,)
        return Rearranged(span.start, span.end, f"x.at[index].{method}(y)", make, removed)

    return rearrange


def arguments_of(call: ast.Call) -> dict[str, ast.expr] | None:
    """The arguments of an update by their names; None if it is not certain which they are."""
    if any(isinstance(each, ast.Starred) for each in call.args) or len(call.args) > 5:
        return None
    given = dict(zip(_ARGUMENTS, call.args, strict=False))
    for each in call.keywords:
        if each.arg not in _ARGUMENTS or each.arg in given:
            return None
        given[each.arg] = each.value
    # They are computed in the order in which they stand, which is to remain the same.
    in_order = [name for name in _ARGUMENTS if name in given]
    return given if in_order[:3] == ["x", "idx", "y"] and list(given) == in_order else None


def is_index(found: Successor) -> bool:
    """Whether a name is ``jax.ops.index``."""
    return found.old == _INDEX


def is_inlined(reading: Reading, node: ast.expr) -> bool:
    """Whether this ``jax.ops.index`` is part of an update that is written anew.

    Args:
      reading: the file.
      node: the name ``jax.ops.index``.
    """
    parents = reading.document.parents
    subscript = parents[node]
    call = parents[subscript]
    if isinstance(call, ast.keyword):
        call = parents[call]
    if not isinstance(call, ast.Call) or not isinstance(subscript, ast.Subscript):
        return False
    name = reading.names.full_name(call.func)
    if name not in INDEX_UPDATES or not reading.allows("FOC152", call.func):
        return False
    given = arguments_of(call)
    return given is not None and given["idx"] is subscript and subscript.value is node


def _index_name(reading: Reading, index: ast.expr) -> ast.expr | None:
    """The ``jax.ops.index`` in ``jax.ops.index[...]``."""
    if isinstance(index, ast.Subscript) and reading.names.full_name(index.value) == _INDEX:
        return index.value
    return None


def _inside(place: Place, index: ast.expr) -> Span:
    """What stands in the brackets."""
    assert isinstance(index, ast.Subscript)
    text = place.reading.document.text
    start = text.index("[", place.span(index.value).end) + 1
    return Span(start, place.span(index).end - 1)


INDEX_UPDATES: dict[str, Rearrangement] = {
    f"jax.ops.index_{name}": _updating(method) for name, method in _METHODS.items()
}
