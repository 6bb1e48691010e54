"""Expressions of a program: literals, effects, names that never change, and quotations."""

from __future__ import annotations

import ast
from typing import Any, Final

from flaxoptim_compat import syntax
from flaxoptim_compat.migrate.editing.edits import Fragments, Span
from flaxoptim_compat.migrate.names.scopes import Scope
from flaxoptim_compat.migrate.names.walk import parameter_names_of, walk_of
from flaxoptim_compat.migrate.program.document import Document

_NO_EFFECT: Final = frozenset({"abs", "bool", "float", "getattr", "int", "len", "max", "min"})
_ACTS: Final = (ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)


def literal(node: ast.expr) -> Any:
    """The value of a literal: a number, also behind a minus, a truth value or None.

    Raises:
      ValueError: the expression is no literal.
    """
    match node:
        case ast.Constant(value=bool() | int() | float() | None):
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
    raise ValueError(f"{type(node).__name__} is no literal")


def may_act(node: ast.expr) -> bool:
    """True if an expression may have an effect, so that the moment of its run matters."""
    return any(
        isinstance(each, _ACTS) or (isinstance(each, ast.Call) and not _is_known(each))
        for each in ast.walk(node)
    )


def _is_known(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name in _NO_EFFECT
        case ast.Attribute(attr="get"):
            # The method of a dict; that of a queue takes no string.
            first = call.args[0] if call.args else None
            return isinstance(first, ast.Constant) and isinstance(first.value, str)
    return False


# Expressions that need brackets, which are not a part of their nodes.
_LOOSE: Final = (ast.NamedExpr, ast.Yield, ast.YieldFrom)
_LOOSER: Final = (*_LOOSE, ast.IfExp, ast.Lambda)


def quoted(document: Document, node: ast.expr, within: bool = False) -> syntax.Quoted:
    """An expression of a file.

    Args:
      document: the file.
      node: the expression.
      within: whether it will stand in an expression, not just between commas.
    """
    span = Span(*document.span(node))
    loose = _LOOSER if within else _LOOSE
    return quoted_fragments(document, ("(", span, ")") if isinstance(node, loose) else (span,))


def quoted_fragments(document: Document, fragments: Fragments) -> syntax.Quoted:
    """The expression of some fragments."""
    text = "".join(
        each if isinstance(each, str) else document.text[each.start : each.end]
        for each in fragments
    )
    return syntax.Quoted(text, fragments)


def fragments_of(text: syntax.Text) -> Fragments:
    """The fragments of a text, with spans for quoted code, which other rules may change."""
    fragments: list[str | Span] = []
    for each in text:
        for fragment in (each,) if isinstance(each, str) else each.origin:
            if isinstance(fragment, str) and fragments and isinstance(fragments[-1], str):
                fragments[-1] += fragment
            else:
                fragments.append(fragment)
    return tuple(each for each in fragments if each != "")


_REPEATED = (
    *(ast.For, ast.AsyncFor, ast.While),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


def is_settled(document: Document, node: ast.expr) -> bool:
    """True if an expression is a name that is bound once before it is used, and never again."""
    scope = walk_of(document).names.get(node) if isinstance(node, ast.Name) else None
    if scope is None:
        return False
    assert isinstance(node, ast.Name)
    home = scope.binder(node.id, (node.lineno, node.col_offset))
    # A lambda does not see the names of a class, and a comprehension binds its own anew.
    if home is None or home.is_class or home.is_comprehension:
        return False
    if len(home.bindings[node.id]) != 1:
        return False
    is_parameter = node.id in parameter_names_of(home.node)
    return is_parameter or _is_assigned_once(document, node.id, home)


def _is_assigned_once(document: Document, name: str, home: Scope) -> bool:
    """True if the only binding of a name is an assignment that is run once at most."""
    (binding,) = home.bindings[name]
    # The cell of a notebook can be run again.
    in_cell = home.parent is None and document.path.suffix == ".ipynb"
    if binding.kind not in ("value", "other") or in_cell:
        return False
    line, _ = binding.after
    for node in ast.walk(home.node):
        if isinstance(node, ast.ExceptHandler) and node.name == name:
            return False  # Python deletes the name at the end of the handler
        if isinstance(node, _REPEATED) and node.lineno <= line <= (node.end_lineno or line):
            return False
    return True
