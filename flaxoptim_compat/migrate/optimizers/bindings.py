"""What constructor calls say, as far as the program's variables tell."""

from __future__ import annotations

import ast

from flaxoptim_compat.migrate.flow.evaluation import Evaluation
from flaxoptim_compat.migrate.flow.values import Definition, Site, Traversal
from flaxoptim_compat.migrate.optax_text.binding import Bound, Refused, bind


def is_inline(evaluation: Evaluation, node: ast.expr) -> Site | None:
    """The definition that an expression makes itself; None if it is one that has a name."""
    for value in evaluation.values(node):
        if isinstance(value, Definition) and value.site.node is node:
            return value.site
    return None


def bound_of(evaluation: Evaluation, site: Site) -> Bound | Refused:
    """What a constructor call says."""

    def definition_of(node: ast.expr) -> Bound | Refused | None:
        inline = is_inline(evaluation, node)
        return None if inline is None else bound_of(evaluation, inline)

    return bind(site.node, site.name, definition_of)


def filters_of(evaluation: Evaluation, node: ast.expr) -> list[ast.Call]:
    """The calls of ModelParamTraversal that an expression can hold; none if it can hold others."""
    values = evaluation.values(node)
    calls = [each.node for each in values if isinstance(each, Traversal)]
    plain = all(len(call.args) == 1 and not call.keywords for call in calls)
    return calls if plain and len(calls) == len(values) else []


def inner_definitions(evaluation: Evaluation, site: Site) -> list[Site]:
    """The definitions in the arguments of a MultiOptimizer or a WeightNorm."""
    nodes = [*site.node.args, *(each.value for each in site.node.keywords)]
    nodes += [each for pair in site.node.args for each in getattr(pair, "elts", [])]
    return [
        value.site
        for node in nodes
        for value in evaluation.values(node)
        if isinstance(value, Definition)
    ]
