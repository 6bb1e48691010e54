"""What a program does with its optimizers, and what of it has no equal in optax."""

from __future__ import annotations

import ast
import collections
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from flaxoptim_compat.migrate.optimizers.attribute_uses import attribute_use
from flaxoptim_compat.migrate.optimizers.create_handed_on import (
    is_called_at_once,
    is_followed,
)
from flaxoptim_compat.migrate.optimizers.given_to_packages import given_to_package
from flaxoptim_compat.migrate.optimizers.lost import decorated, lost_to
from flaxoptim_compat.migrate.optimizers.restored_elsewhere import restored_elsewhere
from flaxoptim_compat.migrate.optimizers.unread_code import (
    given_to_unread,
    made_by_unread,
    put_into_unread,
)
from flaxoptim_compat.migrate.optimizers.use import (
    BY_HAND,
    MIXED,
    Sites,
    Use,
    axes_of,
    call_of,
    sites_of,
)
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import known_names
from flaxoptim_compat.migrate.values.objects import (
    NOTHING,
    Container,
    Definition,
    External,
    Object,
    Objects,
    Optimizer,
    StateDict,
)
from flaxoptim_compat.migrate.values.points_to import PointsTo


def uses(points_to: PointsTo, unknown: Mapping[Document, Sequence[ast.Attribute]]) -> Iterator[Use]:
    """Each thing that the program does with an optimizer, in the order of the files.

    Args:
      points_to: what is known of the program.
      unknown: for each file what looks like such a use, and is not known to be one.
    """
    found = list(_all_uses(points_to, unknown))
    for use in (*found, *restored_elsewhere(points_to, found)):
        if isinstance(use.node, ast.Call) and _in_f_string(use.document, use.node):
            problem = "It is a part of an f-string: give it a name before."
            yield dataclasses.replace(use, problem=problem, bridge="")
        else:
            yield use


def _all_uses(
    points_to: PointsTo, unknown: Mapping[Document, Sequence[ast.Attribute]]
) -> Iterator[Use]:
    # For each file, the first unknown place in what runs with it.
    first: dict[Document, str] = {}
    for document in points_to.documents:
        if unknown[document]:
            place = document.place(unknown[document][0])
            for other in points_to.processes.together_with(document):
                first.setdefault(other, place)
    for document in points_to.documents:
        for node in document.nodes:
            if document in first:
                yield from lost_to(points_to, document, node, first[document])
            if find := _FIND.get(type(node)):
                yield from find(points_to, document, node)


def _of_name(
    points_to: PointsTo, document: Document, node: ast.Attribute | ast.Name
) -> Iterator[Use]:
    if isinstance(node, ast.Attribute):
        yield from _of_attribute(points_to, document, node)
    if points_to.legacy(node):
        yield from _of_class(points_to, document, node)


def _of_call(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    yield from given_to_unread(points_to, document, call)
    yield from made_by_unread(points_to, document, call)
    yield from given_to_package(points_to, document, call)


def _of_attribute(points_to: PointsTo, document: Document, node: ast.Attribute) -> Iterator[Use]:
    values = points_to.legacy(node.value)
    if not values or known_names.is_bridged(node):
        return
    if sites := sites_of(values, Optimizer):
        values = points_to.values(node.value)
        sites = sites_of(values, Optimizer)
        if node.attr in _OF_CONTAINERS and any(isinstance(each, Container) for each in values):
            return
        # Of all else that an optimizer is asked for no container has anything.
        others = {each for each in values if not isinstance(each, Optimizer | Container)}
        if sites != {None}:
            # Annotations say it of what is seen to be the optimizer itself, too.
            others.discard(Definition(None))
        if others or points_to.is_unknown(node.value):
            yield Use("FOC219", document, node, sites, MIXED)
            return
        yield attribute_use(document, node, sites, axes_of(values))
    elif sites := sites_of(values, Definition):
        yield from _of_definition(points_to, document, node, sites)
    elif sites := sites_of(frozenset(_asked_for(values, node.attr)), StateDict):
        problem = f"A TrainState has other entries, for which `{node.attr}` may ask."
        yield Use("FOC210", document, node, sites, problem)


_OF_CONTAINERS = frozenset().union(*map(dir, (dict, list, set, tuple, collections.deque)))


def _asked_for(values: Objects, attribute: str) -> Iterator[Object]:
    """The dicts of which an attribute may be asked for single entries.

    Who goes through all entries of a flat one takes them as they are.
    """
    for each in values:
        if not (isinstance(each, StateDict) and each.is_flat and attribute in _ALL_ENTRIES):
            yield each


_ALL_ENTRIES = frozenset({"items", "keys", "values"})


def _of_definition(
    points_to: PointsTo, document: Document, node: ast.Attribute, sites: Sites
) -> Iterator[Use]:
    call = call_of(document, node)
    if call is not None and _becomes_train_state(document, call):
        return
    if isinstance(node.ctx, ast.Store):
        problem = f"The program assigns to its `{node.attr}`, which optax has for good."
        yield Use("FOC219", document, node, sites, problem)
        return
    if node.attr != "create":
        yield Use("FOC201", document, node, sites, f"The program asks it for `{node.attr}`.")
        return
    if call is None:
        is_seen = is_called_at_once(points_to, document, node) or is_followed(points_to, node)
        problem = "" if is_seen else "It is not seen what calls it: call it where it stands."
        yield Use("FOC202", document, node, sites, problem)
        return
    # By position they are the first ones of these.
    names = [*("target", "focus", "")[: len(call.args)], *(each.arg for each in call.keywords)]
    if any(isinstance(each, ast.Starred) for each in call.args) or sorted(map(str, names)) not in (
        ["target"],
        ["focus", "target"],
    ):
        yield Use("FOC202", document, node, sites, "Its arguments are not written out.")
        return
    yield Use("FOC202", document, call, sites)


def focus_of(create: ast.Call) -> ast.expr | None:
    """What a call of ``create`` gives as focus; None if all parameters are meant."""
    by_name = (each.value for each in create.keywords if each.arg == "focus")
    focus = next(by_name, create.args[1] if len(create.args) > 1 else None)
    return None if isinstance(focus, ast.Constant) and focus.value is None else focus


def _becomes_train_state(document: Document, call: ast.Call) -> bool:
    parent = document.parents[call]
    return isinstance(parent, ast.Attribute) and parent.attr == "to_train_state"


def _in_f_string(document: Document, node: ast.AST) -> bool:
    while isinstance(node, ast.expr | ast.keyword | ast.comprehension):
        node = document.parents[node]
        if isinstance(node, ast.JoinedStr):
            return True
    return False


def _of_entry(points_to: PointsTo, document: Document, node: ast.AST) -> Iterator[Use]:
    """An entry of a state dict, of which a TrainState has only the parameters."""
    match node:
        case ast.Subscript(value=holder, slice=key):
            pass
        case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[holder]):
            pass
        case _:
            return
    if sites := sites_of(points_to.legacy(holder), StateDict):
        values = points_to.values(holder)
        match key:
            case ast.Constant(value="target") if all(
                map(_is_nested, values)
            ) and not _may_be_another(points_to, document, holder):
                yield Use("FOC210", document, key, sites_of(values, StateDict))
            case _:
                problem = f"A TrainState has other entries than `{ast.unparse(key)}` and its like."
                yield Use("FOC210", document, node, sites, problem)


def _may_be_another(points_to: PointsTo, document: Document, holder: ast.expr) -> bool:
    """Whether a variable with a state dict is also given something of which nothing is known."""
    if not isinstance(holder, ast.Name):
        return False
    scope = points_to.scopes[document].binder(holder, holder.id)
    given: list[ast.expr] = []
    for node in ast.walk(scope or document.tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                if any(isinstance(each, ast.Name) and each.id == holder.id for each in targets):
                    given.append(value)
    for each in given:
        if isinstance(each, ast.IfExp):
            given += [each.body, each.orelse]
        elif not sites_of(points_to.legacy(each), StateDict):
            return True
    return False


def _is_nested(each: Object) -> bool:
    return isinstance(each, StateDict) and not each.is_flat


def _of_class(
    points_to: PointsTo, document: Document, node: ast.Attribute | ast.Name
) -> Iterator[Use]:
    """The class Optimizer itself, in annotations and isinstance."""
    names = [each.name for each in points_to.legacy(node) if isinstance(each, External)]
    if not names or not isinstance(node.ctx, ast.Load):
        return
    parent = document.parents[node]
    if isinstance(parent, ast.Attribute):
        if any(map(known_names.is_optimizer, names)) and not known_names.is_bridged(parent):
            problem = f"The class is asked for `{parent.attr}`, not the optimizer."
            yield Use("FOC219", document, node, frozenset({None}), problem)
        return
    if any(known_names.legacy_name(name) == known_names.BASE for name in names):
        sites = _annotated_sites(points_to, document, node, Definition)
        if sites != {None}:
            yield Use("FOC209", document, node, sites)
    if not any(map(known_names.is_optimizer, names)):
        return
    if isinstance(parent, ast.MatchClass | ast.ClassDef):
        matched = isinstance(parent, ast.MatchClass)
        problem = "It is matched by its fields." if matched else "A class is derived from it."
        yield Use("FOC219", document, node, frozenset({None}), problem)
        return
    if isinstance(parent, ast.Call) and parent.func is node:
        sites = sites_of(points_to.values(parent), Optimizer)
        yield Use("FOC219", document, node, sites, BY_HAND)
        return
    sites = _annotated_sites(points_to, document, node, Optimizer)
    yield Use("FOC209", document, node, sites, joins=_is_given(document, node))


def _is_given(document: Document, node: ast.expr) -> bool:
    """Whether it is an argument, as of isinstance, or in one."""
    inner: ast.AST = node
    while isinstance(inner, ast.expr | ast.keyword):
        inner = document.parents[inner]
        if isinstance(inner, ast.Call):
            return True
    return False


def _annotated_sites(
    points_to: PointsTo,
    document: Document,
    node: ast.expr,
    kind: type[Optimizer | Definition],
) -> Sites:
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
    sites = sites_of(values, kind) or sites_of(points_to.data_inside(values), kind)
    return sites or frozenset({None})


# What finds the uses in an expression or statement of a kind.
_FIND: dict[type[ast.AST], Callable[[PointsTo, Document, Any], Iterator[Use]]] = {
    ast.Assign: put_into_unread,
    ast.Attribute: _of_name,
    ast.Call: _of_call,
    ast.Compare: _of_entry,
    ast.FunctionDef: decorated,
    ast.Name: _of_name,
    ast.Subscript: _of_entry,
}
