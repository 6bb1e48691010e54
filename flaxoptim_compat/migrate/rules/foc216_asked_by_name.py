"""FOC216: ``hasattr(optimizer, "target")`` asks for ``params``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names.dotted import asks_by_name
from flaxoptim_compat.migrate.optimizers.fragments import renamed_string
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Recognises
from flaxoptim_compat.migrate.optimizers.targets import may_be_models
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use, mixed, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.values.objects import Container, Definition, Optimizer
from flaxoptim_compat.migrate.values.points_to import PointsTo

RULE = Rule("FOC216", "asked-by-name")


def _uses(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """The names in a call of one of these functions."""
    # To ask what is called takes work, and few calls are given a string.
    constants = (each.value for each in call.args if isinstance(each, ast.Constant))
    if not any(isinstance(each, str) for each in constants):
        return
    functions = points_to.package_names(call.func)
    if not functions & _MAKE_A_FUNCTION:
        if functions & _ASK and asks_by_name(call):
            yield from _asked(points_to, document, call, "hasattr" in functions)
        return
    # What it is applied to is not seen where it is handed on at once, or asks for a field before.
    handed_on = isinstance(document.parents[call], ast.Call | ast.keyword)
    for name in call.args:
        match name:
            case ast.Constant(value=str(asked)) if (
                handed_on or "." in asked
            ) and _ASKED_FOR.intersection(asked.split(".")):
                problem = f"An optimizer may be asked for `{asked}` by this name, which stays."
                yield Use("FOC218", document, name, frozenset({None}), problem)


def _asked(
    points_to: PointsTo, document: Document, call: ast.Call, only_whether: bool
) -> Iterator[Use]:
    owner, name = call.args[:2]
    assert isinstance(name, ast.Constant) and isinstance(name.value, str)
    if name.value == "create" and (made := sites_of(points_to.values(owner), Definition)):
        problem = "The definition is asked for `create` by this name: write it with a dot."
        yield Use("FOC218", document, name, made, problem)
    if not sites_of(points_to.values(owner), Optimizer):
        return
    values = points_to.values(owner)
    sites = sites_of(values, Optimizer)
    # A container has none of these, whatever it holds.
    others = [each for each in values if not isinstance(each, Optimizer | Container)]
    if others or points_to.is_unknown(owner):
        yield Use("FOC219", document, call, sites, mixed(others), is_doubt=True)
    elif name.value not in _TODAY or (name.value == "apply_gradient" and not only_whether):
        problem = f"A TrainState may not have `{name.value}`, the name that is asked for here."
        yield Use("FOC218", document, name, sites, problem)
    elif name.value == "target" and may_be_models(points_to, [document]):
        yield Use("FOC218", document, name, sites, _MODELS)
    else:
        yield Use(RULE.code, document, name, sites)


_MODELS = "A model of flax.nn has `params` too, and would be taken for an optimizer here."
_MAKE_A_FUNCTION = {"operator.attrgetter", "operator.methodcaller"}
_ASKED_FOR = {"apply_gradient", "optimizer_def", "target"}
_ASK = {"getattr", "hasattr"}
# What a TrainState calls them.
_TODAY = {"apply_gradient": "apply_gradients", "target": "params"}
RECOGNISES = Recognises(nodes=[(ast.Call, _uses)])


def find(reading: Reading) -> Iterator[Finding]:
    """Each name in a string."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit, imports
        assert isinstance(use.node, ast.Constant)
        return (renamed_string(reading, use.node, _TODAY[str(use.node.value)]),)

    what = "the name of something that an optimizer has"
    yield from findings(reading, RULE.code, what, "the name that a TrainState has", edits_of)
