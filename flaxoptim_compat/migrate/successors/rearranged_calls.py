"""Calls of lost names whose arguments stand elsewhere today, and their new text."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable
from typing import NamedTuple

from flaxoptim_compat.migrate.editing.edits import Edit, Span
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.editing.import_statements import without
from flaxoptim_compat.migrate.names.dotted import arguments_of, call_of
from flaxoptim_compat.migrate.optimizers.fragments import owner, replaced, span
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.successors.evident_values import is_array, is_without_effect
from flaxoptim_compat.migrate.successors.successor import Successor

# The edits of a use, for the imports that a target plans.
Making = Callable[[ImportPlan], tuple[Edit, ...]]

_COMMENT = re.compile(r"#[^\n]*")


class Rearranged(NamedTuple):
    """The change of a use that is written anew.

    Args:
      at: the code that changes.
      instead: the new code, for people.
      make: makes the edits.
      removed: the code beside the name that will be gone.
    """

    at: ast.expr
    instead: str
    make: Making
    removed: tuple[ast.expr, ...] = ()


@dataclasses.dataclass(frozen=True)
class LostUse:
    """One use of a name that is gone.

    Args:
      reading: the file.
      node: the name, without attributes that are looked up on it.
      successor: the successor of the name.
    """

    reading: Reading
    node: ast.expr
    successor: Successor

    @property
    def parent(self) -> ast.AST:
        """The node around the name."""
        return self.reading.document.parents[self.node]

    @property
    def call(self) -> ast.Call | None:
        """The call of the name; None if it is not called."""
        return call_of(self.reading.document, self.node)


Rearrangement = Callable[[LostUse], Rearranged | None]


def _by_place(call: ast.Call | None, *numbers: int, keyword: str = "") -> list[ast.expr]:
    """The arguments of a call by position, if their order is certain; else none.

    Args:
      call: the call, if there is one.
      numbers: how many arguments may be given by position.
      keyword: the only name by which one more argument may be given.
    """
    if call is None or len(call.args) not in numbers:
        return []
    is_certain = all(each.arg == keyword for each in call.keywords) and not any(
        isinstance(each, ast.Starred) for each in call.args
    )
    return call.args if is_certain else []


_INDEX = "jax.ops.index"
_METHODS = {"update": "set", "add": "add", "mul": "multiply", "min": "min", "max": "max"}


def _updating(method: str) -> Rearrangement:
    def rearrange(lost: LostUse) -> Rearranged | None:
        reading, call = lost.reading, lost.call
        arguments = _by_place(call, 3)
        if call is None or not arguments:
            return None
        updated, index, value = arguments
        inlined = _index_name(reading, index)
        inside = span(reading, index) if inlined is None else _inside(reading, index)
        known = is_array(reading, updated)

        def make(imports: ImportPlan) -> tuple[Edit, ...]:
            array = owner(reading, updated)
            if not known:
                # The value may be a list or an array of numpy, which have no `at`.
                asarray = imports.name_of("jax.numpy:asarray", call)
                array = (asarray, "(", span(reading, updated), ")")
            setting = (".at[", inside, f"].{method}(", span(reading, value), ")")
            return (replaced(reading, call, *array, *setting),)

        removed = () if inlined is None else (inlined,)
        return Rearranged(call, f"x.at[index].{method}(y)", make, removed)

    return rearrange


def is_inlined(lost: LostUse) -> bool:
    """True for a ``jax.ops.index`` that is part of an update which is written anew.

    Args:
      lost: a use of any name.
    """
    if lost.successor.old != _INDEX:
        return False
    reading, parents = lost.reading, lost.reading.document.parents
    subscript = lost.parent
    call = parents[subscript]
    if not isinstance(call, ast.Call) or not isinstance(subscript, ast.Subscript):
        return False
    name = reading.names.full_name(call.func)
    if name not in _INDEX_UPDATES or not reading.allows("FOC152", call.func):
        return False
    return subscript in _by_place(call, 3)[1:2] and subscript.value is lost.node


def _index_name(reading: Reading, index: ast.expr) -> ast.expr | None:
    """The ``jax.ops.index`` in ``jax.ops.index[...]``."""
    if isinstance(index, ast.Subscript) and reading.names.full_name(index.value) == _INDEX:
        return index.value
    return None


def _inside(reading: Reading, index: ast.expr) -> Span:
    """The place of the index in its brackets."""
    assert isinstance(index, ast.Subscript)
    start = reading.document.text.index("[", span(reading, index.value).end) + 1
    return Span(start, span(reading, index).end - 1)


_INDEX_UPDATES: dict[str, Rearrangement] = {
    f"jax.ops.index_{name}": _updating(method) for name, method in _METHODS.items()
}


def _shuffled(lost: LostUse) -> Rearranged | None:
    """The change to ``permutation``, which shuffles each slice by itself with ``independent``."""
    reading, call = lost.reading, lost.call
    if call is None or not _by_place(call, 2, 3, keyword="axis"):
        return None
    last, end = span(reading, arguments_of(call)[-1]).end, span(reading, call).end
    behind = _COMMENT.sub("", reading.document.text[last:end])
    if "".join(behind.split()) not in (")", ",)"):
        return None  # the last argument stands in parentheses of its own

    def make(imports: ImportPlan) -> tuple[Edit, ...]:
        name = imports.name_of("jax.random:permutation", lost.node)
        return (replaced(reading, lost.node, name), Edit(last, last, (", independent=True",)))

    return Rearranged(call, "jax.random.permutation(key, x, axis, independent=True)", make)


def _tied_in(lost: LostUse) -> Rearranged | None:
    """The change to the second argument alone, if computing the first has no effect."""
    call, arguments = lost.call, _by_place(lost.call, 2)
    if call is None or not arguments or not is_without_effect(arguments[0]):
        return None
    edit = _second(lost.reading, call, arguments[1])
    return Rearranged(call, "the second argument", lambda _: (edit,), (arguments[0],))


def _second(reading: Reading, call: ast.Call, second: ast.expr) -> Edit:
    """The second argument in place of the call, or nothing where it would be assigned to itself."""
    document = reading.document
    match document.parents[call], second:
        case ast.Assign(targets=[ast.Name(id=name)]) as statement, ast.Name(id=other):
            if name == other:
                return without(document, statement)
        case ast.Assign() | ast.Return(), ast.BinOp() if "\n" not in document.source(second):
            return replaced(reading, call, span(reading, second))
    return replaced(reading, call, *owner(reading, second))


def _constant(text: str, name: str = "") -> Rearrangement:
    """The change to a number, in parentheses where an operator would bind to a part of it.

    Args:
      text: the number, or its sign.
      name: ``module:attribute`` behind the sign.
    """

    def rearrange(lost: LostUse) -> Rearranged | None:
        if isinstance(lost.parent, ast.MatchValue):
            return None  # a pattern with a sign is a number
        operators = (ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript, ast.Await)
        inside = isinstance(lost.parent, operators)
        if isinstance(lost.parent, ast.Subscript) and lost.parent.slice is lost.node:
            inside = False

        def make(imports: ImportPlan) -> tuple[Edit, ...]:
            number = text + (imports.name_of(name, lost.node) if name else "")
            return (replaced(lost.reading, lost.node, f"({number})" if inside else number),)

        return Rearranged(lost.node, text + name.replace(":", "."), make)

    return rearrange


REARRANGED: dict[str, Rearrangement] = {
    **_INDEX_UPDATES,
    **{f"{module}.NINF": _constant("-", f"{module}:inf") for module in ("jax.numpy", "numpy")},
    **dict.fromkeys(("jax.numpy.NZERO", "numpy.NZERO"), _constant("-0.0")),
    **dict.fromkeys(("jax.numpy.PZERO", "numpy.PZERO"), _constant("0.0")),
    "jax.lax.tie_in": _tied_in,
    "jax.random.shuffle": _shuffled,
}
