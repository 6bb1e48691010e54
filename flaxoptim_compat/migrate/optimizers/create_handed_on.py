"""The ``create`` of a definition that is not called where it stands, as a function."""

from __future__ import annotations

import ast

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.objects import NOTHING, Class, Create, External, Function
from flaxoptim_compat.migrate.values.points_to import PointsTo

_TRANSFORMS = {"jax.jit", "jax.pmap", "jax.vmap"}
_KEEPS = (
    ast.arguments,
    ast.Dict,
    ast.IfExp,
    ast.Lambda,
    ast.List,
    ast.NamedExpr,
    ast.Return,
    ast.Tuple,
)


def is_called_at_once(points_to: PointsTo, document: Document, create: ast.Attribute) -> bool:
    """Whether it is as in ``jax.jit(definition.create)(params)``."""
    maker = document.parents[create]
    if not isinstance(maker, ast.Call) or not _transforms(points_to, maker, create):
        return False
    call = document.parents[maker]
    return isinstance(call, ast.Call) and call.func is maker and _gives_target(call)


def is_followed(points_to: PointsTo, create: ast.Attribute) -> bool:
    """Whether all that becomes of it is seen, and it is called with nothing but parameters."""
    sites = {each.site for each in points_to.legacy(create) if isinstance(each, Create)}
    is_called = False
    for document in points_to.documents:
        for node in document.nodes:
            held = points_to.legacy(node) if isinstance(node, ast.expr) else NOTHING
            if any(isinstance(each, Create) and each.site in sites for each in held):
                assert isinstance(node, ast.expr)
                if not _is_plain(points_to, document, node):
                    return False
                is_called = is_called or getattr(document.parents[node], "func", None) is node
    return is_called


def _is_plain(points_to: PointsTo, document: Document, node: ast.expr) -> bool:
    if any(not isinstance(each, Create) for each in points_to.values(node)):
        return False
    parent = document.parents[node]
    if isinstance(parent, ast.Call) and parent.func is node:
        return _gives_target(parent)
    if isinstance(parent, ast.keyword):
        parent = document.parents[parent]
    if isinstance(parent, ast.Call):
        takers = points_to.values(parent.func)
        own = all(isinstance(each, Class | Function) for each in takers)
        is_known = bool(takers) and not points_to.is_unknown(parent.func)
        return (is_known and own) or _transforms(points_to, parent, node)
    if isinstance(parent, ast.Assign):
        owners = (each.value for each in parent.targets if hasattr(each, "value"))
        return all(map(points_to.values, owners))
    return isinstance(parent, _KEEPS)


def _transforms(points_to: PointsTo, call: ast.Call, function: ast.expr) -> bool:
    makers = points_to.values(call.func)
    return (
        call.args[:1] == [function]
        and bool(makers)
        and all(isinstance(each, External) and each.name in _TRANSFORMS for each in makers)
    )


def _gives_target(call: ast.Call) -> bool:
    names = ["" if isinstance(each, ast.Starred) else "target" for each in call.args]
    return [*names, *(each.arg for each in call.keywords)] == ["target"]
