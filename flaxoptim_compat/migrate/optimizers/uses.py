"""What a program does with its optimizers, and what of it has no equal in optax."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.optimizers.attributes import attribute_use
from flaxoptim_compat.migrate.optimizers.use import BY_HAND, MIXED, Use, call_of, sites_of
from flaxoptim_compat.migrate.values import known_calls, legacy_names
from flaxoptim_compat.migrate.values.objects import (
    NOTHING,
    Definition,
    External,
    Objects,
    Optimizer,
    Site,
    StateDict,
)
from flaxoptim_compat.migrate.values.points_to import PointsTo, is_bridged


def uses(points_to: PointsTo) -> Iterator[Use]:
    """All of them, in the order of the files."""
    for use in _all_uses(points_to):
        if isinstance(use.node, ast.Call) and _in_f_string(use.document, use.node):
            problem = "It is a part of an f-string: give it a name before."
            yield dataclasses.replace(use, problem=problem, bridge="")
        else:
            yield use


def _all_uses(points_to: PointsTo) -> Iterator[Use]:
    for document in points_to.documents:
        for node in document.nodes:
            if isinstance(node, ast.Attribute):
                yield from _of_attribute(points_to, document, node)
            elif isinstance(node, ast.Call):
                yield from _of_arguments(points_to, document, node)
            elif isinstance(node, ast.Subscript):
                yield from _of_entries(points_to, document, node)
            if isinstance(node, ast.Attribute | ast.Name) and points_to.legacy(node):
                yield from _of_class(points_to, document, node)


def _of_attribute(points_to: PointsTo, document: Document, node: ast.Attribute) -> Iterator[Use]:
    values = points_to.legacy(node.value)
    if not values or is_bridged(node):
        return
    if sites := sites_of(values, Optimizer):
        values = points_to.values(node.value)
        sites = sites_of(values, Optimizer)
        others = any(not isinstance(each, Optimizer) for each in values)
        if others or points_to.is_unknown(node.value):
            yield Use("FOC219", document, node, sites, MIXED)
            return
        yield attribute_use(document, node, sites)
    elif sites := sites_of(values, Definition):
        yield from _of_definition(document, node, sites)
    elif sites := sites_of(values, StateDict):
        problem = f"A TrainState has other entries, for which `{node.attr}` may ask."
        yield Use("FOC210", document, node, sites, problem)


def _of_definition(
    document: Document, node: ast.Attribute, sites: frozenset[Site | None]
) -> Iterator[Use]:
    call = call_of(document, node)
    if call is not None and _becomes_train_state(document, call):
        return
    if node.attr != "create":
        yield Use("FOC201", document, node, sites, f"The program asks it for `{node.attr}`.")
        return
    names = [each.arg for each in call.keywords] if call else []
    if (
        call is None
        or any(isinstance(each, ast.Starred) for each in call.args)
        or len(call.args) + names.count("target") != 1
        or {*names} - {"target", "focus"}
    ):
        yield Use("FOC202", document, node, sites, "Its arguments are not written out.")
        return
    yield Use("FOC202", document, call, sites)


def _becomes_train_state(document: Document, call: ast.Call) -> bool:
    parent = document.parents[call]
    return isinstance(parent, ast.Attribute) and parent.attr == "to_train_state"


def _in_f_string(document: Document, node: ast.AST) -> bool:
    while isinstance(node, ast.expr | ast.keyword | ast.comprehension):
        node = document.parents[node]
        if isinstance(node, ast.JoinedStr):
            return True
    return False


def _of_entries(points_to: PointsTo, document: Document, node: ast.Subscript) -> Iterator[Use]:
    """An entry of a state dict, whose layout a TrainState does not have."""
    if sites := sites_of(points_to.legacy(node.value), StateDict):
        problem = f"A TrainState has other entries than `{ast.unparse(node.slice)}` and its like."
        yield Use("FOC210", document, node, sites, problem)


def _of_arguments(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """An optimizer that is given to a function which is not read."""
    arguments = [*call.args, *(each.value for each in call.keywords)]
    given = [(each, sites_of(points_to.legacy(each), Optimizer)) for each in arguments]
    given = [(each, sites) for each, sites in given if sites]
    if not given:
        return
    takers = points_to.values(call.func)
    packages = {
        each.name
        for each in takers
        if isinstance(each, External) and not _takes_any_tree(each.name)
    }
    if points_to.is_unknown(call.func):
        problem = "It is given to one of more functions than are followed."
    elif packages:
        problem = f"It is given to {min(packages)}, which may expect an Optimizer."
    elif not takers and not _keeps_things(call.func):
        problem = "It is given to a function that is not known here."
    else:
        return
    for argument, sites in given:
        yield Use("FOC218", document, argument, sites, problem)


def _keeps_things(function: ast.expr) -> bool:
    """Whether it is a method that puts what it is given somewhere, and asks it for nothing."""
    return isinstance(function, ast.Attribute) and (
        function.attr in known_calls.KEEP_THINGS
        or function.attr in ("from_train_state", "to_train_state")
    )


def _takes_any_tree(name: str) -> bool:
    root = name.partition(".")[0]
    return (
        root in known_calls.TAKE_ANY_TREE
        or name in known_calls.TAKE_ANYTHING
        or legacy_names.legacy_name(name) is not None
    )


def _of_class(
    points_to: PointsTo, document: Document, node: ast.Attribute | ast.Name
) -> Iterator[Use]:
    """The class Optimizer itself, in annotations and isinstance."""
    if not isinstance(node.ctx, ast.Load) or isinstance(document.parents[node], ast.Attribute):
        return
    names = [each.name for each in points_to.legacy(node) if isinstance(each, External)]
    if any(legacy_names.legacy_name(name) == legacy_names.BASE for name in names):
        sites = _annotated_sites(points_to, document, node, Definition)
        if sites != {None}:
            yield Use("FOC209", document, node, sites)
    if not any(map(legacy_names.is_optimizer, names)):
        return
    parent = document.parents[node]
    if isinstance(parent, ast.MatchClass):
        problem = "It is matched by its fields."
        yield Use("FOC219", document, node, frozenset({None}), problem)
        return
    if isinstance(parent, ast.Call) and parent.func is node:
        sites = sites_of(points_to.values(parent), Optimizer)
        yield Use("FOC219", document, node, sites, BY_HAND)
        return
    yield Use("FOC209", document, node, _annotated_sites(points_to, document, node, Optimizer))


def _annotated_sites(
    points_to: PointsTo,
    document: Document,
    node: ast.expr,
    kind: type[Optimizer | Definition],
) -> frozenset[Site | None]:
    """Where the optimizers, or the definitions, come from that an annotation is about."""
    inner: ast.AST = node
    while isinstance(parent := document.parents[inner], ast.expr):
        if isinstance(parent, ast.Call):
            # isinstance(x, Optimizer): those that x can be.
            found = [sites_of(points_to.values(each), kind) for each in parent.args]
            return frozenset().union(*found) or frozenset({None})
        inner = parent
    scope = points_to.scopes[document].around(inner)
    values: Objects = NOTHING
    if isinstance(parent, ast.arg):
        function = document.parents[document.parents[parent]]
        values = points_to.variable(function, parent.arg)
    elif isinstance(parent, ast.AnnAssign) and isinstance(parent.target, ast.Name):
        values = points_to.variable(scope, parent.target.id)
        if isinstance(scope, ast.ClassDef):
            values |= points_to.field(scope, parent.target.id)
    elif isinstance(parent, ast.FunctionDef):
        values = points_to.returned(parent)
    return sites_of(values, kind) or frozenset({None})
