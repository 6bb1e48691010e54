"""What a program does with an optimizer by its attributes and methods."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Literal

from flaxoptim_compat.migrate.optax_text.program_expressions import may_act
from flaxoptim_compat.migrate.optimizers.use import STEPS, Sites, Use, call_of, is_simple
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import known_names


def attribute_use(
    document: Document, node: ast.Attribute, sites: Sites, axes: frozenset[str]
) -> Use:
    """What an attribute of an optimizer is used for.

    Args:
      document: the file.
      node: the attribute.
      sites: where the definitions of the optimizer were made.
      axes: those over which it averages its gradients; "" if it does not.
    """
    use = _BY_NAME.get(node.attr, _unknown)(document, node, sites)
    if axes <= {""}:
        return use
    if use.code in STEPS and len(axes) == 1:
        return dataclasses.replace(use, axis=min(axes))
    if node.attr in _OF_COPIES and use.code != "FOC204":
        return dataclasses.replace(use, problem=_COPIES.format(node.attr), bridge="")
    return use


# What an optimizer on every device has for a single copy, or the TrainState in another shape.
_OF_COPIES = frozenset({"optimizer_def", "restore_state", "state", "state_dict"})
_COPIES = "`{}` is asked of an optimizer that was replicated: ask before, or its `unreplicate()`."


def _target(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    problem = "" if isinstance(node.ctx, ast.Load) else "It assigns to a field."
    return Use("FOC203", document, node, sites, problem)


def _state(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    parent = document.parents[node]
    match parent:
        case ast.Subscript(slice=ast.Constant(value=int())):
            # Each part of a MultiOptimizer has a state, and all count alike.
            part = document.parents[parent]
            if isinstance(part, ast.Attribute) and part.attr == "step":
                parent = part
    if isinstance(parent, ast.Attribute):
        # What follows decides.
        if parent.attr == "step" and isinstance(parent.ctx, ast.Load):
            asked = isinstance(document.parents[parent], ast.Attribute)
            problem = _SHAPE if asked and "eval_shape" in document.text else ""
            return Use("FOC204", document, parent, sites, problem)
        if parent.attr == "replace" and _is_step_replaced(document, parent):
            return Use("FOC207", document, parent, sites, bridge="reads")
        problem = _STATE.format(f"state.{parent.attr}")
        return Use("FOC213", document, node, sites, problem, bridge="reads")
    return Use("FOC213", document, node, sites, _STATE.format("state"), bridge="reads")


_SHAPE = "It may be asked of a shape, and a TrainState starts with a number: drop what asks."
_STATE = "`{}` has another structure in optax."


def _is_step_replaced(document: Document, node: ast.Attribute) -> bool:
    """Whether this is ``state.replace`` in ``x.replace(state=x.state.replace(step=n))``."""
    call = document.parents[node]
    if not (isinstance(call, ast.Call) and [each.arg for each in call.keywords] == ["step"]):
        return False
    if may_act(call.keywords[0].value):
        return False  # it is written twice, for the step and for the counts of optax
    keyword = document.parents[call]
    if not (isinstance(keyword, ast.keyword) and keyword.arg == "state" and not call.args):
        return False
    outer = document.parents[keyword]
    if not isinstance(node.value, ast.Attribute):
        return False
    return (
        isinstance(outer, ast.Call)
        and isinstance(outer.func, ast.Attribute)
        and outer.func.attr == "replace"
        and ast.dump(outer.func.value) == ast.dump(node.value.value)
    )


def _step(document: Document, node: ast.Attribute, sites: Sites, takes: str) -> Use:
    """A step: of ``apply_gradient``, which takes gradients, or of ``optimize``, a function."""
    call = call_of(document, node)
    if call is None:
        return Use("FOC205", document, node, sites, "The method is not called where it stands.")
    names = [each.arg for each in call.keywords]
    overrides = tuple(name for name in names if name not in (None, takes))
    is_split = takes == "loss_fn"
    problem = ""
    if any(isinstance(each, ast.Starred) for each in call.args) or None in names:
        problem = "Its arguments are not written out."
    elif len(call.args) + names.count(takes) != 1 or "hyper_params" in names:
        problem = "It is given hyper-parameters as an object."
    elif (overrides or is_split) and not is_simple(node.value):
        problem = "The optimizer has no name, and is needed twice."
    elif is_split:
        problem = _one_statement(document, call)
    elif overrides and _order_matters(document, call):
        problem = "What computes the gradients may change what the step is given: name it before."
    code = "FOC206" if overrides or problem else "FOC205"
    # What cannot be split returns more than an optimizer.
    bridge: Literal["", "returns"] = "" if problem and is_split else "returns"
    return Use(code, document, call, sites, problem, overrides, bridge)


def _order_matters(document: Document, step: ast.Call) -> bool:
    """Whether computing the gradients may change the hyper-parameters, which optax is set before.

    A call may change what it is a method of, and a function what it is called by.
    """
    grads = [*step.args, *(each.value for each in step.keywords if each.arg == "grads")]
    given = [each.value for each in step.keywords if each.arg != "grads"]
    changed: set[str] = set()
    for each in _inside(grads):
        match each:
            case ast.Await() | ast.Yield() | ast.YieldFrom():
                return True
            case ast.NamedExpr(target=ast.Name(id=name)):
                changed.add(name)
            case ast.Call(func=function):
                changed.update(
                    node.id for node in _inside([function]) if isinstance(node, ast.Name)
                )
    bound = [alias for node in document.imports for alias in node.names]
    changed -= {(alias.asname or alias.name).partition(".")[0] for alias in bound}
    return any(isinstance(each, ast.Name) and each.id in changed for each in _inside(given))


def _one_statement(document: Document, call: ast.Call) -> str:
    """Why a statement with ``optimize`` cannot become two, for gradient and step; "" if it can."""
    results = _taken_apart(document, call)
    if not results or isinstance(results[0], ast.Tuple | ast.List):
        return _RESULTS
    start, end = document.span(document.statement(call))
    line = document.text.rfind("\n", 0, start) + 1
    after = document.text[end:].partition("\n")[0].strip()
    if document.text[line:start].strip() or (after and not after.startswith("#")):
        return "Its statement shares a line with something else."
    stored = {ast.unparse(each) for each in _inside(results[1:]) if _is_stored(each)}
    given = [call.func, *(each.value for each in call.keywords if each.arg != "loss_fn")]
    if stored & {ast.unparse(each) for each in _inside(given) if isinstance(each, ast.expr)}:
        return "A result has the name of something that the step is given: give it another one."
    return ""


def _taken_apart(document: Document, call: ast.Call) -> list[ast.expr]:
    """The two or three targets of a statement that takes the results of a call apart; else none."""
    match document.parents[call]:
        case ast.Assign(targets=[ast.Tuple(elts=results)]) if len(results) in (2, 3):
            starred = any(isinstance(each, ast.Starred) for each in results)
            return [] if starred else results
    return []


def _inside(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    return chain.from_iterable(map(ast.walk, nodes))


def _is_stored(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store) and not isinstance(node, ast.Tuple)


def _replace(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    call = call_of(document, node)
    if call is None or call.args or not call.keywords:
        return Use("FOC207", document, node, sites, "What it replaces is not written out.")
    problem = ""
    bridge: Literal["", "returns"] = "returns"
    for each in call.keywords:
        if each.arg == "state":
            inner = each.value
            is_step = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute)
            if not (is_step and _is_step_replaced(document, inner.func)):  # type: ignore[attr-defined]
                problem = _STATE.format("state")
            elif not is_simple(node.value):
                problem = "The optimizer has no name, and is needed twice."
        elif each.arg != "target":
            problem = f"A TrainState has no `{each.arg or '**'}` to replace."
            bridge = ""
    return Use("FOC207", document, call, sites, problem, bridge=bridge)


def _state_dict(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    call = call_of(document, node)
    wanted = 1 if node.attr == "restore_state" else 0
    if call is None or len(call.args) != wanted or call.keywords:
        return Use("FOC210", document, node, sites, "Its arguments are not those of flax.optim.")
    return Use("FOC210", document, call, sites)


def _replicate(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    call = call_of(document, node)
    if call is None:
        return Use("FOC211", document, node, sites, "The method is not called where it stands.")
    problem = ""
    if node.attr == "replicate":
        problem = "" if known_names.axis_of(call) else "Its axis is not written out."
    elif call.args or call.keywords:
        problem = "Its arguments are not those of flax.optim."
    return Use("FOC211", document, call, sites, problem)


def _compute_gradient(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    call = call_of(document, node)
    if call is None or len(call.args) != 1 or call.keywords:
        return Use("FOC212", document, node, sites, "Its arguments are not those of flax.optim.")
    problem = "" if _taken_apart(document, call) else _RESULTS
    return Use("FOC212", document, call, sites, problem, bridge="reads")


_RESULTS = "Its results are not taken apart where it is called."


def _optimizer_def(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    problem = "A TrainState keeps the transformation as `tx`, without its hyper-parameters."
    return Use("FOC214", document, node, sites, problem, bridge="reads")


def _unknown(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    owner = "An optimizer" if node.attr == "apply_gradients" else "A TrainState"
    return Use("FOC219", document, node, sites, f"{owner} has no `{node.attr}`.")


_BY_NAME: dict[str, Callable[[Document, ast.Attribute, Sites], Use]] = {
    "target": _target,
    "state": _state,
    "apply_gradient": functools.partial(_step, takes="grads"),
    "replace": _replace,
    "state_dict": _state_dict,
    "restore_state": _state_dict,
    "replicate": _replicate,
    "unreplicate": _replicate,
    "compute_gradient": _compute_gradient,
    "compute_gradients": _compute_gradient,
    "optimize": functools.partial(_step, takes="loss_fn"),
    "optimizer_def": _optimizer_def,
}
