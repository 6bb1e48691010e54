"""Calls of lost names whose arguments stand elsewhere today, and their new text."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments, Span
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.editing.import_statements import without
from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.successors.evident_values import is_array
from flaxoptim_compat.migrate.successors.successor import Successor

# The edits of a use, for the imports that a target plans.
Making = Callable[[ImportPlan], tuple[Edit, ...]]

_COMMENT = re.compile(r"#[^\n]*")

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Tuple, ast.Dict)


@dataclasses.dataclass(frozen=True)
class Rearranged:
    """The change of a use that is written anew.

    Args:
      span: the code that changes.
      instead: the new code, for people.
      make: makes the edits.
      removed: the names beside that of the use that will be gone.
    """

    span: Span
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
        parent = self.parent
        return parent if isinstance(parent, ast.Call) and parent.func is self.node else None

    def span(self, node: ast.expr) -> Span:
        """The place of a node."""
        return Span(*self.reading.document.span(node))

    def plain_arguments(self, names: str, most: int) -> list[ast.expr] | None:
        """The arguments of the call by position, if their order is certain.

        Args:
          names: the names of the keywords that may be among them.
          most: how many may be given by position.

        Returns:
          None if there are unpacked arguments, too many, or other keywords.
        """
        call = self.call
        if call is None or any(isinstance(each, ast.Starred) for each in call.args):
            return None
        if any(each.arg not in names.split() for each in call.keywords):
            return None
        return call.args if len(call.args) <= most else None

    def insertion(self, text: str) -> Edit | None:
        """The edit that adds an argument to the call; None if the place for it is not certain."""
        call = self.call
        assert call is not None
        last = arguments_of(call)[-1]
        start, end = self.span(last).end, self.span(call).end
        behind = _COMMENT.sub("", self.reading.document.text[start:end])
        if "".join(behind.split()) not in (")", ",)"):
            return None  # the last one stands in parentheses of its own
        return Edit(start, start, (text,))

    def atom(self, node: ast.expr) -> Fragments:
        """The text of an expression, on which an attribute can be looked up."""
        span = self.span(node)
        is_float = isinstance(node, ast.Constant) and isinstance(node.value, float)
        return (span,) if is_float or isinstance(node, _ATOMS) else ("(", span, ")")


Rearrangement = Callable[[LostUse], Rearranged | None]


_INDEX = "jax.ops.index"
_METHODS = {"update": "set", "add": "add", "mul": "multiply", "min": "min", "max": "max"}


def _updating(method: str) -> Rearrangement:
    def rearrange(lost: LostUse) -> Rearranged | None:
        call = lost.call
        arguments = None if call is None else _arguments(call)
        if call is None or arguments is None:
            return None
        updated, index, value = arguments
        inlined = _index_name(lost.reading, index)
        inside = lost.span(index) if inlined is None else _inside(lost, index)
        known = is_array(lost.reading, updated)

        def make(imports: ImportPlan) -> tuple[Edit, ...]:
            array: Fragments = lost.atom(updated)
            if not known:
                # The value may be a list or an array of numpy, which have no `at`.
                array = (imports.name_of("jax.numpy:asarray", call), "(", lost.span(updated), ")")
            text = (*array, ".at[", inside, f"].{method}(", lost.span(value), ")")
            return (Edit(*lost.span(call), text),)

        removed = () if inlined is None else (inlined,)
        return _changed(lost, f"x.at[index].{method}(y)", make, removed)

    return rearrange


def _arguments(call: ast.Call) -> list[ast.expr] | None:
    """The array, the index and the value of an update; None if they are given otherwise."""
    starred = any(isinstance(each, ast.Starred) for each in call.args)
    return None if starred or call.keywords or len(call.args) != 3 else call.args


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
    arguments = _arguments(call)
    return arguments is not None and arguments[1] is subscript and subscript.value is lost.node


def _index_name(reading: Reading, index: ast.expr) -> ast.expr | None:
    """The ``jax.ops.index`` in ``jax.ops.index[...]``."""
    if isinstance(index, ast.Subscript) and reading.names.full_name(index.value) == _INDEX:
        return index.value
    return None


def _inside(lost: LostUse, index: ast.expr) -> Span:
    """The place of the index in its brackets."""
    assert isinstance(index, ast.Subscript)
    text = lost.reading.document.text
    start = text.index("[", lost.span(index.value).end) + 1
    return Span(start, lost.span(index).end - 1)


_INDEX_UPDATES: dict[str, Rearrangement] = {
    f"jax.ops.index_{name}": _updating(method) for name, method in _METHODS.items()
}

# Reading one of these does nothing else, so that it can be left out.
_WITHOUT_EFFECT = (ast.Name, ast.Constant)


def _changed(
    lost: LostUse, instead: str, make: Making, removed: tuple[ast.expr, ...] = ()
) -> Rearranged:
    """The change of the whole call, or of the name if it is not called."""
    return Rearranged(lost.span(lost.call or lost.node), instead, make, removed)


def _shuffled(lost: LostUse) -> Rearranged | None:
    """The change to ``permutation``, which shuffles each slice by itself with ``independent``."""
    arguments = lost.plain_arguments("axis", 3)
    added = (
        lost.insertion(", independent=True")
        if arguments is not None and len(arguments) > 1
        else None
    )
    if added is None:
        return None

    def make(imports: ImportPlan) -> tuple[Edit, ...]:
        name = imports.name_of("jax.random:permutation", lost.node)
        return (Edit(*lost.span(lost.node), (name,)), added)

    return _changed(lost, "jax.random.permutation(key, x, axis, independent=True)", make)


def _tied_in(lost: LostUse) -> Rearranged | None:
    """The change to the second argument alone, if computing the first has no effect."""
    arguments = lost.plain_arguments("", 2)
    if arguments is None or len(arguments) < 2 or not _is_idle(arguments[0]):
        return None
    gone = [each for each in ast.walk(arguments[0]) if isinstance(each, ast.Name | ast.Attribute)]
    return _changed(
        lost, "the second argument", lambda _: (_second(lost, arguments[1]),), tuple(gone)
    )


def _second(lost: LostUse, second: ast.expr) -> Edit:
    """The second argument in place of the call, or nothing where it would be assigned to itself."""
    call, document = lost.call or lost.node, lost.reading.document
    match document.parents[call], second:
        case ast.Assign(targets=[ast.Name(id=name)]) as statement, ast.Name(id=other):
            if name == other:
                return without(document, statement)
        case ast.Assign() | ast.Return(), ast.BinOp() if "\n" not in document.source(second):
            return Edit(*lost.span(call), (lost.span(second),))
    return Edit(*lost.span(call), lost.atom(second))


def _is_idle(node: ast.expr) -> bool:
    """True if computing an expression has no effect."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, _WITHOUT_EFFECT):
            return False
        node = node.value
    return isinstance(node, _WITHOUT_EFFECT)


def _constant(make_text: Callable[[ImportPlan, LostUse], str], instead: str) -> Rearrangement:
    """The change to a number, in parentheses where an operator would bind to a part of it."""

    def rearrange(lost: LostUse) -> Rearranged | None:
        if isinstance(lost.parent, ast.MatchValue):
            return None  # a pattern with a sign is a number
        operators = (ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript, ast.Await)
        inside = isinstance(lost.parent, operators)
        if isinstance(lost.parent, ast.Subscript) and lost.parent.slice is lost.node:
            inside = False

        def make(imports: ImportPlan) -> tuple[Edit, ...]:
            text = make_text(imports, lost)
            return (Edit(*lost.span(lost.node), (f"({text})" if inside else text,)),)

        return Rearranged(lost.span(lost.node), instead, make)

    return rearrange


def _constants(module: str) -> dict[str, Rearrangement]:
    def minus_infinity(imports: ImportPlan, lost: LostUse) -> str:
        return f"-{imports.name_of(f'{module}:inf', lost.node)}"

    return {
        f"{module}.NINF": _constant(minus_infinity, f"-{module}.inf"),
        f"{module}.NZERO": _constant(lambda imports, lost: "-0.0", "-0.0"),
        f"{module}.PZERO": _constant(lambda imports, lost: "0.0", "0.0"),
    }


REARRANGED: dict[str, Rearrangement] = {
    **_INDEX_UPDATES,
    **_constants("jax.numpy"),
    **_constants("numpy"),
    "jax.lax.tie_in": _tied_in,
    "jax.random.shuffle": _shuffled,
}
