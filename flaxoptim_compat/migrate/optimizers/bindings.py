"""What constructor calls say, as far as the program's variables tell."""

from __future__ import annotations

import ast

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
    """What a constructor call says."""

    def definition_of(node: ast.expr) -> Bound | Refused | None:
        inline = is_inline(points_to, node)
        return None if inline is None else bound_of(points_to, inline)

    return bind(site.node, site.name, definition_of)


def filters_of(points_to: PointsTo, node: ast.expr) -> list[Traversal]:
    """The ModelParamTraversals that an expression can hold; none if it can hold others."""
    values = points_to.values(node)
    found = [each for each in values if isinstance(each, Traversal)]
    plain = all(len(each.node.args) == 1 and not each.node.keywords for each in found)
    found.sort(key=lambda each: (str(each.document.path), each.node.lineno, each.node.col_offset))
    return found if plain and len(found) == len(values) else []


def inner_definitions(points_to: PointsTo, site: Site) -> list[Site]:
    """The definitions in the arguments of a MultiOptimizer or a WeightNorm."""
    nodes = [*site.node.args, *(each.value for each in site.node.keywords)]
    nodes += [each for pair in site.node.args for each in getattr(pair, "elts", [])]
    return [
        value.site
        for node in nodes
        for value in points_to.values(node)
        if isinstance(value, Definition) and value.site is not None
    ]
