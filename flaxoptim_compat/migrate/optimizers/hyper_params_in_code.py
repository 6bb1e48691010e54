"""The hyper-parameters that constructor calls and single steps give."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping, Sequence

from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optax_text.binding import Bound, Refused, bind
from flaxoptim_compat.migrate.optimizers.use import Use, is_simple
from flaxoptim_compat.migrate.values.objects import (
    Definition,
    HyperParams,
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


Replaced = Mapping[tuple[int, str], ast.expr]


@dataclasses.dataclass(frozen=True, eq=False)
class PartRates:
    """The hyper-parameters that the steps of a MultiOptimizer give to its parts.

    Args:
      names: for each part the hyper-parameters, and what they are called in optax.
      values: for each step the expressions, by what they are called.
      statements: those that only took the hyper-parameters apart, and go.
      uses: the uses that this is about.
    """

    names: Sequence[Mapping[str, str]]
    values: Mapping[ast.expr, Mapping[str, ast.expr]]
    statements: Mapping[ast.expr, ast.stmt]
    uses: Sequence[Use]


def part_rates(
    points_to: PointsTo, site: Site, steps: Sequence[Use], others: Sequence[Use]
) -> PartRates | None:
    """How the steps give hyper-parameters to parts; None if one does so in another way.

    Args:
      points_to: what is known of the program.
      site: the MultiOptimizer.
      steps: the calls of ``apply_gradient``.
      others: the uses of the definition and of its hyper-parameters.
    """
    found: dict[ast.expr, Replaced] = {}
    bases: list[ast.expr] = []
    for use in steps:
        replaced = _replaced(points_to, site, use, bases)
        if replaced is None or (found and {*replaced} != {*next(iter(found.values()))}):
            return None
        found[use.node] = replaced
    statements = _statements(points_to, others, bases)
    if not found or statements is None:
        return None
    keys = next(iter(found.values()))
    parts = range(len(site.node.args))
    names = [{name: f"{name}_{part}" for each, name in keys if each == part} for part in parts]
    values = {
        call: {f"{name}_{part}": node for (part, name), node in replaced.items()}
        for call, replaced in found.items()
    }
    return PartRates(names, values, statements, [*steps, *others])


def _replaced(points_to: PointsTo, site: Site, use: Use, bases: list[ast.expr]) -> Replaced | None:
    """The values that one step replaces, by part and name; ``bases`` gets the objects with them."""
    call = use.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    given = [each for each in call.keywords if each.arg != "grads"]
    grads = len(call.args) + len(call.keywords) - len(given)
    if len(given) != 1 or given[0].arg != "hyper_params" or grads != 1:
        return None
    parts = given[0].value
    if not is_simple(call.func.value) or not isinstance(parts, ast.List | ast.Tuple):
        return None
    if len(parts.elts) != len(site.node.args):
        return None
    replaced: dict[tuple[int, str], ast.expr] = {}
    for index, part in enumerate(parts.elts):
        base, keywords = part, []
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and not part.args:
            base, keywords = part.func.value, part.keywords
        if points_to.values(base) != {HyperParams(site, index)}:
            return None
        bases.append(base)
        for keyword in keywords:
            if keyword.arg is None:
                return None
            replaced[index, keyword.arg] = keyword.value
    return replaced


def _statements(
    points_to: PointsTo, others: Sequence[Use], bases: Sequence[ast.expr]
) -> dict[ast.expr, ast.stmt] | None:
    """The statements that read the hyper-parameters only for these; None if others do too."""
    statements: dict[ast.expr, ast.stmt] = {}
    for use in others:
        if use.code == "FOC201":
            match use.node:
                case ast.Attribute(value=ast.Attribute(attr="optimizer_def")):
                    continue  # it is the outer part of a chain, whose inner one is in FOC214
            return None
        parents = use.document.parents
        outer = parents[use.node]
        if not (isinstance(outer, ast.Attribute) and outer.attr == "hyper_params"):
            return None
        reader = parents[outer]
        if isinstance(reader, ast.Subscript) and reader in bases:
            continue
        match reader:
            case ast.Assign(targets=[ast.Tuple(elts=several) | ast.List(elts=several)]):
                targets = several
            case ast.Assign(targets=[single]):
                targets = [single]
            case _:
                return None
        if not all(
            isinstance(each, ast.Name) and _only_for(points_to, use, each, bases)
            for each in targets
        ):
            return None
        statements[use.node] = reader
    return statements


def _only_for(points_to: PointsTo, use: Use, target: ast.Name, bases: Sequence[ast.expr]) -> bool:
    """True if a variable is read only in these expressions, and bound by nothing else."""
    scopes = points_to.scopes[use.document]
    scope = scopes.binder(target, target.id)
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, ast.Name) or node.id != target.id or node is target:
            continue
        around = use.document.parents[node]
        if node not in bases and not (isinstance(around, ast.Subscript) and around in bases):
            return False
    return isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef)
