"""The edits that rewrite the steps of an optimizer."""

from __future__ import annotations

import ast
import re

from flaxoptim_compat.catalogue import INTEGERS, RATE
from flaxoptim_compat.migrate.editing.edits import Edit, Fragments
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.fragments import (
    listed,
    owner,
    renamed_attribute,
    replaced,
    span,
    value,
)
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use, gradients_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.objects import Optimizer

_OPTIMIZER = "flaxoptim_compat.optim:Optimizer"


def bridge_edits(reading: Reading, use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
    """The edits that turn a TrainState into its optimizer, and the result back if it is one.

    Args:
      reading: the file.
      use: what the optimizer does.
      unit: what it belongs to.
      imports: those of the result.
    """
    if use.makes:
        return back_edits(reading, use, unit)
    optimizer = imports.name_of(_OPTIMIZER, use.node)
    receiver = use.node if use.code == "FOC219" else _receiver(reading, use.node)
    there: Fragments = (f"{optimizer}.from_train_state(", span(reading, receiver), ")")
    edits = [replaced(reading, receiver, *there)]
    if use.axis:
        assert isinstance(use.node, ast.Call)
        grads = gradients_of(use.node)[0]
        averaged = _averaged(use, value(reading, grads), imports)
        edits.append(replaced(reading, grads, *averaged))
    back = back_edits(reading, use, unit) if use.bridge == "returns" else ()
    return (*edits, *back)


def back_edits(reading: Reading, use: Use, unit: Unit) -> tuple[Edit, ...]:
    """The edit that makes a TrainState of the optimizer that a call returns."""
    end = reading.document.span(use.node)[1]
    return (Edit(end - 1, end, (f"){to_train_state(use, unit)}",)),)


def _averaged(use: Use, grads: Fragments, imports: ImportPlan) -> Fragments:
    """The gradients of a step as it takes them: averaged over the devices, or as they are."""
    if not use.axis:
        return grads
    return (f"{imports.name_of('jax:lax.pmean', use.node)}(", *grads, f', "{use.axis}")')


def to_train_state(use: Use, unit: Unit) -> str:
    """The call that makes a TrainState of an optimizer, as text to put after the optimizer."""
    # What no step sets is in no state of an optimizer either, and so in no checkpoint.
    given = [] if unit.overrides else ["inject=False"]
    # A definition without a rate needs one to start from, which every step replaces.
    given += [f"{RATE}=0.0"] if unit.lacks(use) else []
    return f".to_train_state({', '.join(given)})"


def _receiver(reading: Reading, node: ast.expr) -> ast.expr:
    """The optimizer that something is asked of."""
    assert reading.facts is not None
    inner = node.func if isinstance(node, ast.Call) else node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
        if any(isinstance(each, Optimizer) for each in reading.facts.points_to.values(inner)):
            break
    return inner


# They may need other brackets as the value of a keyword than as the only argument.
_BRACKETED = (ast.GeneratorExp, ast.NamedExpr, ast.Yield, ast.YieldFrom)


def step_edits(reading: Reading, use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
    """The edits of one call of ``apply_gradient``.

    Args:
      reading: the file.
      use: the call.
      unit: what it belongs to.
      imports: those of the result.
    """
    call = use.node
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    grads = gradients_of(call)[0]
    if not use.overrides and not isinstance(grads, _BRACKETED) and not use.axis:
        # Only the name changes, and all that stands between the brackets stays as it is.
        renamed = renamed_attribute(reading, call.func, "apply_gradients")
        return (renamed, *_grads_named(reading, call))
    named: Fragments = ("grads=", *_averaged(use, value(reading, grads), imports))
    if not use.overrides:
        text = (*owner(reading, call.func.value), ".apply_gradients(", *named, ")")
        return (replaced(reading, call, *text),)
    receiver = span(reading, call.func.value)
    arguments: list[Fragments] = [(receiver, ".opt_state")]
    if unit.ambiguous.intersection(use.overrides):
        # The moments of a parameter with the name of a value are none.
        arguments.append(('lambda path, _: "hyperparams" in str(path)',))
    arguments += [
        (f"{each.arg}=", *_as_float(reading, str(each.arg), each.value))
        for each in call.keywords
        if each.arg in use.overrides
    ]
    tree_set = f"{imports.name_of('optax', call)}.tree_utils.tree_set("
    setting = (".replace(opt_state=", tree_set, *listed(arguments), ")")
    text = (receiver, *setting, ").apply_gradients(", *named, ")")
    return (replaced(reading, call, *text),)


def _as_float(reading: Reading, name: str, node: ast.expr) -> Fragments:
    """A value as it is set in the state, where a whole number would be one of integers."""
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int(whole)) if name not in INTEGERS:
            return (repr(float(whole)),)
    return value(reading, node)


_COMMENT = re.compile("#.*")


def _grads_named(reading: Reading, call: ast.Call) -> tuple[Edit, ...]:
    if not call.args:
        return ()
    start = reading.document.span(call.args[0])[0]
    # A bracket around the argument is not a part of its node, nor is one in a comment.
    end = reading.document.span(call.func)[1]
    between = _COMMENT.sub(lambda each: " " * len(each[0]), reading.document.text[end:start])
    at = end + between.index("(") + 1 if between.count("(") > 1 else start
    return (Edit(at, at, ("grads=",)),)


def taken_apart(document: Document, call: ast.Call) -> list[ast.expr]:
    """The two or three targets of a statement that takes the results of a call apart; else none."""
    match document.parents[call]:
        case ast.Assign(targets=[ast.Tuple(elts=results)]) if len(results) in (2, 3):
            starred = any(isinstance(each, ast.Starred) for each in results)
            return [] if starred else results
    return []


NOT_TAKEN_APART = "The results are not taken apart where the method is called."
