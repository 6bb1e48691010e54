"""Dotted names: names with attributes, by a dot or by ``getattr``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flaxoptim_compat.migrate.names.scopes import Scope
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import absolute

# The functions that take the name of an attribute in a string, and those that import by a name.
BY_NAME = frozenset(["getattr", "hasattr", "setattr", "delattr"])
CALLS_OF_NAMES = BY_NAME | {"import_module", "__import__"}


class DottedName(NamedTuple):
    """A name and the attributes looked up on it: ``optim.Adam``, ``getattr(flax, "optim").Adam``.

    Args:
      node: the whole expression.
      root: the name.
      path: the attributes.
      scope: the scope of the expression.
    """

    node: ast.expr
    root: ast.Name
    path: tuple[str, ...]
    scope: Scope


def prefixes_of(node: ast.expr) -> Iterator[ast.expr]:
    """A dotted name, then the name without its last attribute, and so on to the root."""
    while True:
        yield node
        if isinstance(node, ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Call) and constant_getattr(node) is not None:
            node = node.args[0]
        else:
            return


def taken_apart(node: ast.expr) -> tuple[ast.Name, tuple[str, ...]] | None:
    """The root and the attributes of a dotted name; None if it is something else."""
    path: list[str] = []
    for each in prefixes_of(node):
        if isinstance(each, ast.Name):
            return each, tuple(reversed(path))
        if isinstance(each, ast.Attribute):
            path.append(each.attr)
        elif isinstance(each, ast.Call):
            path.append(name_asked(each))
    return None


def names_in(node: ast.expr) -> list[ast.Name]:
    """The names that a dotted name consists of: its root, and each ``getattr`` around it."""
    *around, root = prefixes_of(node)
    names = [name_of_function(each) for each in around if isinstance(each, ast.Call)]
    return [*names, root] if isinstance(root, ast.Name) else names


def last_name(node: ast.expr) -> str:
    """The name, or the last attribute, that an expression ends with; "" if it is neither."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def constant_getattr(node: ast.Call) -> str | None:
    """The attribute that ``getattr(x, "attribute")`` looks up."""
    function = node.func
    if isinstance(function, ast.Name) and function.id == "getattr" and len(node.args) in (2, 3):
        name = name_asked(node)
        return name if name.isidentifier() else None
    return None


def looked_up_by(node: ast.Call) -> str:
    """The function by which a call looks a name up as the program runs; "" if it does not."""
    match node.func:
        case ast.Attribute(attr="import_module" as name):
            return name
        case ast.Name(id="import_module" | "__import__" as name):
            return name
        case ast.Name(id=name) if name in BY_NAME and len(node.args) > 1:
            return name
    return ""


def call_of(document: Document, node: ast.expr | ast.alias) -> ast.Call | None:
    """The call of an expression; None if the expression is not called where it stands."""
    parent = document.parents[node]
    return parent if isinstance(parent, ast.Call) and parent.func is node else None


def arguments_of(node: ast.Call) -> list[ast.expr]:
    """All arguments of a call, by position and by name."""
    return [*node.args, *(each.value for each in node.keywords)]


def argument(node: ast.Call, position: int, name: str) -> ast.expr | None:
    """The argument that a call gives by its name or its position; None if it gives none."""
    by_name = (each.value for each in node.keywords if each.arg == name)
    return next(by_name, node.args[position] if position < len(node.args) else None)


def assigned(node: ast.Assign) -> Iterator[tuple[ast.Attribute | ast.Subscript, ast.expr]]:
    """The attributes and entries that a statement assigns to, each with its value."""
    for target in node.targets:
        yield from _assigned(target, node.value)


def _assigned(
    target: ast.expr, value: ast.expr
) -> Iterator[tuple[ast.Attribute | ast.Subscript, ast.expr]]:
    match target, value:
        case ast.Attribute() | ast.Subscript(), _:
            yield target, value
        case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), _):
            entries = getattr(value, "elts", ())
            is_one_each = len(entries) == len(targets)
            for index, each in enumerate(targets):
                yield from _assigned(each, entries[index] if is_one_each else value)


def imported_module(node: ast.ImportFrom, package: str) -> str | None:
    """The full name of the module that names are imported from; None if it is not known."""
    # Above the known packages, a module called flax need not be Flax.
    if node.level and (not package or node.level > package.count(".") + 1):
        return None
    return absolute("." * node.level + (node.module or ""), package)


def name_of_function(node: ast.Call) -> ast.Name:
    """The name of the function that a ``getattr`` calls."""
    assert isinstance(node.func, ast.Name)
    return node.func


def name_asked(call: ast.Call) -> str:
    """The name that a ``getattr`` or the like asks for; "" if it is not written out."""
    match call.args:
        case [_, ast.Constant(value=str(name)), *_]:
            return name
    return ""


def whose_fields(node: ast.expr) -> ast.expr:
    """The object of which all fields are taken, as by ``vars(x)``; else the expression itself."""
    match node:
        case ast.Attribute(value=owner, attr="__dict__"):
            return owner
        case ast.Call(func=ast.Name(id="vars"), args=[owner]):
            return owner
    return node
