"""Which definitions have a text in optax, of what parts it is, and why others have none."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Sequence

from flaxoptim_compat.migrate.editing.edits import Span
from flaxoptim_compat.migrate.names.dotted import argument, arguments_of
from flaxoptim_compat.migrate.optax_text.accepted import has_namesake, measured
from flaxoptim_compat.migrate.optax_text.binding import Bound, Refused, bind, check, pairs
from flaxoptim_compat.migrate.optax_text.text import Part, check_parts
from flaxoptim_compat.migrate.optimizers.use import sites_of
from flaxoptim_compat.migrate.values import known_names
from flaxoptim_compat.migrate.values.objects import (
    Class,
    Definition,
    External,
    Partial,
    Site,
    Traversal,
)
from flaxoptim_compat.migrate.values.points_to import PointsTo


def is_inline(points_to: PointsTo, node: ast.expr) -> Site | None:
    """The definition that an expression makes itself; None if it is one that has a name."""
    for value in points_to.values(node):
        if isinstance(value, Definition) and value.site is not None and value.site.node is node:
            return value.site
    return None


def bound_of(points_to: PointsTo, site: Site) -> Bound:
    """A constructor call with its arguments by name.

    Raises:
      Refused: the call is not understood.
    """

    def definition_of(node: ast.expr) -> Bound | None:
        inline = is_inline(points_to, node)
        return None if inline is None else bound_of(points_to, inline)

    bound = bind(site.node, site.name, definition_of)
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


def change_of(points_to: PointsTo, site: Site) -> str:
    """How far the namesakes in optax move the parameters elsewhere; "" if they do the same."""
    inner = [site]
    if site.name == "MultiOptimizer":
        found = [is_inline(points_to, node) for _, node in pairs(site.node)]
        inner = [each for each in found if each is not None]
    changes = [
        f"{each.name}: {measured(bound_of(points_to, each))}"
        for each in inner
        if has_namesake(each.name)
    ]
    return "; ".join(dict.fromkeys(changes))


def why_no_text(points_to: PointsTo, site: Site, injected: Sequence[str]) -> str:
    """Why a constructor call has no text in optax; "" if it has one."""
    if points_to.is_parameter(site.document, _root(site.node.func)):
        return "The class comes from an argument, so that other calls may give another class."
    if len(site.names) > 1:
        classes = " or ".join(sorted(site.names))
        return f"The program chooses the class when it runs, {classes}: no text in optax is both."
    if not site.name or not is_certain(points_to, site):
        return "The class of the definition is not one of flax.optim, or not known."
    try:
        if site.name == "MultiOptimizer":
            _check_partition(points_to, site, injected)
        else:
            check(bound_of(points_to, site), injected)
    except Refused as why:
        reason = str(why)
        return f"{reason[0].upper()}{reason[1:]}."
    return ""


def can_be_dual(points_to: PointsTo, site: Site) -> bool:
    """True if ``dual`` takes what a call makes: a definition, or an optimizer put together by hand.

    A class of the program may keep a state of its own, which no TrainState has.
    """
    made = [*points_to.called_by(site.node.func)]
    classes = [each for each in made if isinstance(each, External | Class)]
    return (
        bool(classes)
        and not points_to.may_call_unseen(site.node.func)
        and not site.document.is_in_f_string(site.node)
        and all(isinstance(each, External | Class | Partial) for each in made)
        and all(_makes_what_is_dual(points_to, site, each) for each in classes)
    )


def _makes_what_is_dual(points_to: PointsTo, site: Site, of: External | Class) -> bool:
    if isinstance(of, Class):
        classes = [each.node for each, _ in points_to.memory.ancestry(of)]
        methods = [each for node in classes for each in node.body if _is_method_of_state(each)]
        return points_to.memory.makes_definitions(of) and all(map(_goes_on, methods))
    if known_names.is_optimizer(of.name):
        definition = argument(site.node, 0, "optimizer_def")
        return definition is not None and bool(sites_of(points_to.values(definition), Definition))
    return of.name == known_names.COMPUTED or known_names.is_definition(of.name)


def _is_method_of_state(node: ast.stmt) -> bool:
    """True for a method by which a class of definitions may keep another state than flax.optim."""
    return isinstance(node, ast.FunctionDef) and node.name in ("create", "init_state")


def _goes_on(method: ast.stmt) -> bool:
    """True if a method evidently returns what that of the base does, or an OptimizerState."""
    names = {getattr(each, "attr", getattr(each, "id", "")) for each in ast.walk(method)}
    return not names.isdisjoint({getattr(method, "name", ""), "OptimizerState"})


def in_dual(points_to: PointsTo, site: Site) -> ast.Call:
    """The call of ``dual`` around the one that makes a definition; if there is none, that one."""
    match site.document.parents[site.node]:
        case ast.Call() as around if _makes_dual(points_to, around):
            return around
    return site.node


def are_dual(points_to: PointsTo, sites: Iterable[Site | None]) -> bool:
    """True if the optimizers of all these definitions are DualTrainStates already."""
    return all(each is not None and _is_in_dual(points_to, each) for each in sites)


def _is_in_dual(points_to: PointsTo, site: Site) -> bool:
    node: ast.AST = site.node
    while isinstance(node := site.document.parents[node], ast.expr):
        if isinstance(node, ast.Call) and _makes_dual(points_to, node):
            return True
    return False


def _makes_dual(points_to: PointsTo, call: ast.Call) -> bool:
    return known_names.DUAL in points_to.package_names(call.func)


def is_certain(points_to: PointsTo, site: Site) -> bool:
    """True if a call is one of the class itself, however it is called in the file.

    Args:
      points_to: what is known of the program.
      site: the call.
    """
    callees = points_to.values(site.node.func)
    names = {
        known_names.legacy_name(each.name) if isinstance(each, External) else None
        for each in callees
    }
    root = _root(site.node.func)
    if names != {site.name} or not isinstance(root, ast.Name):
        return False
    # What a parameter holds is for callers to say, and for gin, which is none of the program.
    return not points_to.is_parameter(site.document, root)


def _root(node: ast.expr) -> ast.expr:
    """The expression before all dots."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _check_partition(points_to: PointsTo, site: Site, injected: Sequence[str]) -> None:
    """Raise Refused unless a MultiOptimizer has a text."""
    for traversal, optimizer in pairs(site.node):
        if not filters_of(points_to, traversal):
            raise Refused(
                "a traversal of the MultiOptimizer does not select by a function of the path"
            )
        inline = is_inline(points_to, optimizer)
        if inline is not None:
            bound_of(points_to, inline)
        elif not sites_of(points_to.values(optimizer), Definition):
            raise Refused("a part of the MultiOptimizer is not known before the program runs")
    check_parts(parts_of(points_to, site, injected))


def parts_of(points_to: PointsTo, site: Site, injected: Sequence[str]) -> list[Part]:
    """The parts of a MultiOptimizer; those that have names are written in optax where they are.

    Args:
      points_to: what is known of the program.
      site: the MultiOptimizer.
      injected: the hyper-parameters that steps give to all parts.
    """
    parts = []
    for traversal, optimizer in pairs(site.node):
        selects = _selecting(points_to, traversal)
        inline = is_inline(points_to, optimizer)
        if inline is None:
            parts.append(Part(selects, (Span(*site.document.span(optimizer)),)))
        else:
            parts.append(Part(selects, bound_of(points_to, inline), injected))
    return parts


def _selecting(points_to: PointsTo, traversal: ast.expr) -> ast.expr:
    """The function that selects: a variable holds it itself once its file is rewritten."""
    (found, *_) = filters_of(points_to, traversal)
    return found.node.args[0] if found.node is traversal else traversal


def focus_of(create: ast.Call) -> ast.expr | None:
    """The focus that a call of ``create`` is given; None if all parameters are meant."""
    focus = argument(create, 1, "focus")
    is_none = isinstance(focus, ast.Constant) and focus.value is None
    return None if is_none or isinstance(focus, ast.Starred) else focus
