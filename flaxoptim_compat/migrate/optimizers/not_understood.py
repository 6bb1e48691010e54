"""What looks like a use of an optimizer, and is not known to be one."""

from __future__ import annotations

import ast

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.known_names import TELLING, is_bridged
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
