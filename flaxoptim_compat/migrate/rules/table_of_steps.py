"""FOC205 and FOC206: steps, ``apply_gradient(grads)``, and those that are given a rate."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optimizers.effects import calls_what_changes_others, changes_others
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Asked, Recognises
from flaxoptim_compat.migrate.optimizers.steps import NOT_TAKEN_APART, step_edits, taken_apart
from flaxoptim_compat.migrate.optimizers.use import Use, gradients_of, is_simple, is_spelled_out
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.values.objects import Instance, Optimizer, fields_of
from flaxoptim_compat.migrate.values.points_to import PointsTo

RULES = (
    Rule("FOC205", "apply-gradient"),
    Rule("FOC206", "rate-of-a-step"),
)


def _use(asked: Asked, takes: str) -> Use:
    """A step: of ``apply_gradient``, which takes gradients, or of ``optimize``, a function."""
    document, call = asked.document, asked.call
    if call is None:
        return asked.use("FOC205", "The method is not called where it stands.")
    names = [each.arg for each in call.keywords]
    overrides = tuple(name for name in names if name not in (None, takes))
    is_split = takes == "loss_fn"
    problem = ""
    if not is_spelled_out(call):
        problem = "The arguments are not written out."
    elif len(call.args) + names.count(takes) != 1 or "hyper_params" in names:
        problem = "The step is given hyper-parameters as an object."
    elif (overrides or is_split) and not is_simple(asked.node.value):
        problem = "The optimizer has no name, and is needed twice."
    elif is_split:
        problem = _one_statement(document, call)
        given = [each.value for each in call.keywords if each.arg != "loss_fn"]
        acts = any(calls_what_changes_others(asked.points_to, each) for each in gradients_of(call))
        if (acts and _may_be_changed(asked.points_to, document, given)) or (
            changes_others(asked.points_to, document, given)
        ):
            problem = "The loss may change what the step is given: name that before."
    elif overrides and _order_matters(asked.points_to, document, call):
        problem = "The gradients may change what the step is given: name that before."
    code = "FOC206" if overrides or problem else "FOC205"
    # What cannot be split returns more than an optimizer.
    bridge: Literal["", "returns"] = "" if problem and is_split else "returns"
    return asked.use(code, problem, call, overrides=overrides, bridge=bridge)


def _order_matters(points_to: PointsTo, document: Document, step: ast.Call) -> bool:
    """Whether computing the gradients may change the hyper-parameters, which optax is set before.

    A call may change what it is a method of, and so may one that is given the method or object. A
    function may change what it is called by.
    """
    grads = gradients_of(step)
    given = [each.value for each in step.keywords if each.arg != "grads"]
    changed: set[str] = set()
    for each in _inside(grads):
        match each:
            case ast.Await() | ast.Yield() | ast.YieldFrom():
                return True
            case ast.NamedExpr(target=ast.Name(id=name)):
                changed.add(name)
            case ast.Call(func=function):
                used = [one for one in arguments_of(each) if _may_change(points_to, one)]
                if not any(points_to.functions(function)) or _acts(points_to, function):
                    used.append(function)
                names = _inside(used)
                changed.update(node.id for node in names if isinstance(node, ast.Name))
    for first, second in ((grads, given), (given, grads)):
        if _may_be_changed(points_to, document, second) and (
            changes_others(points_to, document, first)
        ):
            return True
    bound = [alias for node in document.imports for alias in node.names]
    changed -= {(alias.asname or alias.name).partition(".")[0] for alias in bound}
    return any(isinstance(each, ast.Name) and each.id in changed for each in _inside(given))


def _may_be_changed(points_to: PointsTo, document: Document, nodes: Iterable[ast.AST]) -> bool:
    """Whether something asks for what others may change: by calls, or as what they share."""
    return any(_is_of_others(points_to, document, each) for each in _inside(nodes))


def _is_of_others(points_to: PointsTo, document: Document, node: ast.AST) -> bool:
    """Whether it is a call, an attribute, an entry, or a variable of the file."""
    if not isinstance(node, ast.Name):
        return isinstance(node, ast.Attribute | ast.Call | ast.Subscript)
    return isinstance(points_to.scopes[document].binder(node, node.id), ast.Module)


def _may_change(points_to: PointsTo, node: ast.expr) -> bool:
    """Whether it is a function that may, or an object whose class names no fields, as a trainer."""
    objects = (each for each in points_to.values(node) if isinstance(each, Instance))
    return _acts(points_to, node) or any(not fields_of(each.of.node) for each in objects)


def _acts(points_to: PointsTo, node: ast.expr) -> bool:
    """Whether it is a function that changes more than its own variables."""
    return any(points_to.functions(node)) and calls_what_changes_others(points_to, node)


def _one_statement(document: Document, call: ast.Call) -> str:
    """Why a statement with ``optimize`` cannot become two, for gradient and step; "" if it can."""
    results = taken_apart(document, call)
    if not results or isinstance(results[0], ast.Tuple | ast.List):
        return NOT_TAKEN_APART
    if not document.has_its_lines(document.statement(call)):
        return "The statement shares a line with other code."
    stored = {ast.unparse(each) for each in _inside(results[1:]) if _is_stored(each)}
    given = [call.func, *(each.value for each in call.keywords if each.arg != "loss_fn")]
    if stored & {ast.unparse(each) for each in _inside(given) if isinstance(each, ast.expr)}:
        return "A result has the name of something that the step is given: give it another one."
    return ""


def _inside(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    return chain.from_iterable(map(ast.walk, nodes))


def _is_stored(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store) and not isinstance(node, ast.Tuple)


RECOGNISES = Recognises(
    {
        Optimizer: {
            "apply_gradient": functools.partial(_use, takes="grads"),
            "optimize": functools.partial(_use, takes="loss_fn"),
        }
    }
)


# What stands there, and what there is instead.
_TEXTS = {
    "FOC205": ("a step of an optimizer", ".apply_gradients(grads=...)"),
    "FOC206": (
        "a step with hyper-parameters of its own",
        "optax.inject_hyperparams, or a schedule",
    ),
}


def find(code: str, reading: Reading) -> Iterator[Finding]:
    """Each step that is given nothing but gradients, or each that is given hyper-parameters."""
    yield from findings(reading, code, *_TEXTS[code], functools.partial(step_edits, reading))
