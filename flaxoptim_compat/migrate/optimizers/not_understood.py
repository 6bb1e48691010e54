"""What looks like a use of an optimizer, and is not known to be one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.optimizers.use import Use, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import containers
from flaxoptim_compat.migrate.values.known_names import TELLING, is_bridged
from flaxoptim_compat.migrate.values.objects import Optimizer
from flaxoptim_compat.migrate.values.points_to import PointsTo

_TARGET = "target"


def not_understood(points_to: PointsTo, document: Document) -> list[ast.Attribute]:
    """The attributes in a file that an optimizer has, of what nothing is known of.

    Many things have a ``target``: it does not count in a file that assigns to one.
    """
    nodes = [each for each in document.nodes if isinstance(each, ast.Attribute)]
    own = {each.attr for each in nodes if isinstance(each.ctx, ast.Store)}
    return [
        node
        for node in nodes
        if (node.attr in TELLING or node.attr in {_TARGET} - own)
        and not points_to.values(node.value)
        and not _is_super(node.value)
        and not is_bridged(node)
    ]


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "super"


def is_certain(node: ast.Attribute) -> bool:
    """Whether only an optimizer has what is asked for."""
    return node.attr in TELLING


def lost_to(
    points_to: PointsTo, document: Document, node: ast.Call | ast.Assign, seen: str
) -> Iterator[Use]:
    """An optimizer that is put into something of which nothing is known.

    Args:
      points_to: what is known of the program.
      document: the file.
      node: what may put it there.
      seen: where something is asked for its ``target`` that may be it.
    """
    for holder, value in _put(node):
        sites = sites_of(points_to.data_inside(points_to.legacy(value)), Optimizer)
        if sites and not points_to.values(holder):
            problem = (
                f"It is put into `{ast.unparse(holder)}`, of which nothing is known, and may be"
                f" what has the `.target` in {seen}: if so, give that the name `optimizer` first."
            )
            yield Use("FOC218", document, value, sites, problem)


def _put(node: ast.Call | ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is put somewhere: into what, and the value."""
    match node:
        case ast.Call(func=ast.Attribute(value=holder, attr=method)) if method in containers.PUT:
            for value in (*node.args, *(each.value for each in node.keywords)):
                yield holder, value
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Attribute | ast.Subscript):
                    yield target.value, value
