"""FOC209: the class ``Optimizer`` in annotations, fields and ``isinstance``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.fragments import replaced
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Recognises
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import (
    BY_HAND,
    Sites,
    Use,
    becomes_train_state,
    sites_of,
)
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.foc202_create import TRAIN_STATE
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.values import known_names
from flaxoptim_compat.migrate.values.objects import (
    NOTHING,
    Definition,
    External,
    Objects,
    Optimizer,
)
from flaxoptim_compat.migrate.values.points_to import PointsTo

TRANSFORMATION = "optax:GradientTransformation"

RULE = Rule("FOC209", "annotation")


def _uses(points_to: PointsTo, document: Document, node: ast.Attribute | ast.Name) -> Iterator[Use]:
    """The uses of the class Optimizer or OptimizerDef itself, in annotations and isinstance."""
    held = points_to.values(node)
    names = [each.name for each in held if isinstance(each, External)] if held else []
    if not names or not isinstance(node.ctx, ast.Load):
        return
    parent = document.parents[node]
    if isinstance(parent, ast.Attribute):
        if any(map(known_names.is_optimizer, names)) and not known_names.is_bridged(parent):
            problem = f"The program reads `{parent.attr}` from the class, not from an optimizer."
            yield Use("FOC219", document, node, frozenset({None}), problem)
        return
    if any(known_names.legacy_name(name) == known_names.BASE for name in names):
        sites = _annotated_sites(points_to, document, node, Definition)
        if sites == {None} and _is_annotation(document, node):
            # Annotations may call optimizers definitions.
            sites = _annotated_sites(points_to, document, node, Optimizer)
        if sites != {None}:
            yield Use(RULE.code, document, node, sites)
    if not any(map(known_names.is_optimizer, names)):
        return
    if isinstance(parent, ast.MatchClass | ast.ClassDef):
        problem = "The class is matched by its fields, or has a subclass."
        yield Use("FOC219", document, node, frozenset({None}), problem, fails_dual=True)
        return
    if isinstance(parent, ast.Call) and parent.func is node:
        if becomes_train_state(document, parent):
            return
        sites = sites_of(points_to.values(parent), Optimizer)
        yield Use("FOC219", document, parent, sites, BY_HAND, bridge="returns")
        return
    if _is_of_class(document, node):
        return
    sites = _annotated_sites(points_to, document, node, Optimizer)
    yield Use(RULE.code, document, node, sites, joins=_is_given(document, node))


def _is_of_class(document: Document, node: ast.expr) -> bool:
    """True for ``Type[Optimizer]``: programs give a class of definitions there, not TrainState."""
    match document.parents[node]:
        case ast.Subscript(value=ast.Name(id="Type" | "type") | ast.Attribute(attr="Type")):
            return True
    return False


def _is_annotation(document: Document, node: ast.expr) -> bool:
    inner: ast.AST = node
    while isinstance(parent := document.parents[inner], ast.expr):
        inner = parent
    match parent:
        case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=annotation):
            return annotation is inner
        case ast.FunctionDef(returns=annotation):
            return annotation is inner
    return False


def _is_given(document: Document, node: ast.expr) -> bool:
    """True if a node is an argument of a call, as of isinstance, or stands in one."""
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
    """The places that the optimizers or definitions of an annotation come from."""
    inner: ast.AST = node
    while isinstance(parent := document.parents[inner], ast.expr):
        if isinstance(parent, ast.Call):
            # isinstance(x, Optimizer) is about the optimizers that x can be.
            sites = [sites_of(points_to.values(each), kind) for each in parent.args]
            return frozenset().union(*sites) or frozenset({None})
        inner = parent
    scope = points_to.scopes[document].around(inner)
    values: Objects = NOTHING
    if isinstance(parent, ast.arg):
        function = document.parents[document.parents[parent]]
        values = points_to.memory.variable(function, parent.arg)
    elif isinstance(parent, ast.AnnAssign) and isinstance(parent.target, ast.Name):
        values = points_to.memory.variable(scope, parent.target.id)
        if isinstance(scope, ast.ClassDef):
            values |= points_to.memory.seen("field", scope, parent.target.id)
    elif isinstance(parent, ast.FunctionDef):
        values = points_to.returned(parent)
    return (
        sites_of(values, kind) or sites_of(points_to.data_inside(values), kind) or frozenset({None})
    )


RECOGNISES = Recognises(nodes=[(ast.Attribute, _uses), (ast.Name, _uses)])


def find(reading: Reading) -> Iterator[FoundPlace]:
    """Each place that names the class."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        is_definition = _names_definition(reading, use.node)
        if is_definition and unit.definition_stays:
            return ()
        successor = TRANSFORMATION if is_definition else TRAIN_STATE
        return (replaced(reading, use.node, imports.name_of(successor, use.node)),)

    def drops(use: Use, unit: Unit) -> bool:
        return not (unit.definition_stays and _names_definition(reading, use.node))

    what = "the class of optimizers"
    yield from findings(reading, RULE.code, what, "TrainState", edits_of, drops)


def _names_definition(reading: Reading, node: ast.expr) -> bool:
    """True if a node stands for definitions, and not for optimizers."""
    assert reading.facts is not None
    points_to, document = reading.facts.points_to, reading.document
    if any(
        isinstance(each, External) and known_names.is_optimizer(each.name)
        for each in points_to.values(node)
    ):
        return False
    return _annotated_sites(points_to, document, node, Definition) != {None}
