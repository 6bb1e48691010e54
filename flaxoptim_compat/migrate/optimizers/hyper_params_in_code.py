"""The hyper-parameters, filters and inner definitions that constructor calls give."""

from __future__ import annotations

import ast
import dataclasses

from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optax_text.binding import Bound, Refused, bind
from flaxoptim_compat.migrate.values.objects import Definition, Site, Traversal
from flaxoptim_compat.migrate.values.points_to import PointsTo


def is_inline(points_to: PointsTo, node: ast.expr) -> Site | None:
    """The definition that an expression makes itself; None if it is one that has a name."""
    for value in points_to.values(node):
        if isinstance(value, Definition) and value.site is not None and value.site.node is node:
            return value.site
    return None


def bound_of(points_to: PointsTo, site: Site) -> Bound | Refused:
    """A constructor call with its arguments by name, or the reason why it is not understood."""

    def definition_of(node: ast.expr) -> Bound | Refused | None:
        inline = is_inline(points_to, node)
        return None if inline is None else bound_of(points_to, inline)

    bound = bind(site.node, site.name, definition_of)
    if isinstance(bound, Refused):
        return bound
    return dataclasses.replace(bound, may_lack=points_to.may_be_none)


def filters_of(points_to: PointsTo, node: ast.expr) -> list[Traversal]:
    """The ModelParamTraversals that an expression can hold; none if it can hold others."""
    values = points_to.values(node)
    found = [each for each in values if isinstance(each, Traversal)]
    plain = all(len(each.node.args) == 1 and not each.node.keywords for each in found)
    found.sort(key=lambda each: (str(each.document.path), each.node.lineno, each.node.col_offset))
    return found if plain and len(found) == len(values) else []


def inner_definitions(points_to: PointsTo, site: Site) -> list[Site]:
    """The definitions in the arguments of a MultiOptimizer or a WeightNorm."""
    nodes = arguments_of(site.node)
    nodes += [each for pair in site.node.args for each in getattr(pair, "elts", [])]
    return [
        value.site
        for node in nodes
        for value in points_to.values(node)
        if isinstance(value, Definition) and value.site is not None
    ]
