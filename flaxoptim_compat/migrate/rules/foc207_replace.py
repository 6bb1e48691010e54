"""FOC207: ``optimizer.replace(target=params)`` is ``state.replace(params=params)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optax_text.program_expressions import may_act
from flaxoptim_compat.migrate.optimizers.fragments import listed, replaced, span, value
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Asked, Recognises
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use, is_simple
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.rules.table_of_steps import NEEDED_TWICE
from flaxoptim_compat.migrate.rules.table_of_uses_that_stay import OTHER_STRUCTURE
from flaxoptim_compat.migrate.values.objects import Optimizer

RULE = Rule("FOC207", "replace")


def _use(asked: Asked) -> Use:
    call = asked.call
    if call is None or call.args or not call.keywords:
        return asked.use(RULE.code, "The arguments of `replace` are not written out by name.")
    problem = ""
    bridge: Literal["", "returns"] = "returns"
    for each in call.keywords:
        if each.arg == "state":
            inner = each.value
            is_step = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute)
            if not (is_step and _is_step_replaced(asked.document, inner.func)):  # type: ignore[attr-defined]
                problem = OTHER_STRUCTURE.format("state")
            elif not is_simple(asked.node.value):
                problem = NEEDED_TWICE
        elif each.arg != "target":
            problem = f"A TrainState has no `{each.arg or '**'}` to replace."
            bridge = ""
    return asked.use(RULE.code, problem, call, bridge=bridge)


def _is_step_replaced(document: Document, node: ast.Attribute) -> bool:
    """True for ``state.replace`` in ``x.replace(state=x.state.replace(step=n))``."""
    call = document.parents[node]
    if not (isinstance(call, ast.Call) and [each.arg for each in call.keywords] == ["step"]):
        return False
    if may_act(call.keywords[0].value):
        return False  # the value is written twice, for the step and for the counts of optax
    keyword = document.parents[call]
    if not (isinstance(keyword, ast.keyword) and keyword.arg == "state" and not call.args):
        return False
    outer = document.parents[keyword]
    match node:
        case ast.Attribute(value=ast.Attribute(value=owner, attr="state"), attr="replace"):
            pass
        case _:
            return False
    return (
        isinstance(outer, ast.Call)
        and isinstance(outer.func, ast.Attribute)
        and outer.func.attr == "replace"
        and ast.dump(outer.func.value) == ast.dump(owner)
    )


def _use_of_state(asked: Asked) -> Use | None:
    """The use of the inner ``replace`` in ``x.replace(state=x.state.replace(step=n))``."""
    replace = asked.document.parents[asked.node]
    match replace:
        case ast.Attribute(attr="replace") if _is_step_replaced(asked.document, replace):
            return asked.use(RULE.code, node=replace, bridge="reads")
    return None


RECOGNISES = Recognises({Optimizer: {"replace": _use, "state": _use_of_state}})


def find(reading: Reading) -> Iterator[Finding]:
    """Each call of ``replace``."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit
        call = use.node
        if not isinstance(call, ast.Call):
            return ()  # the inner call of `replace`, which the edit of the outer one covers
        arguments: list[Fragments] = []
        for keyword in call.keywords:
            if keyword.arg == "target":
                arguments.append(("params=", *value(reading, keyword.value)))
            else:
                arguments += _step(reading, call, keyword.value, imports)
        if len(arguments) == len(call.keywords) == 1:
            start = reading.document.span(call.keywords[0])[0]
            return (Edit(start, start + len("target"), ("params",)),)
        return (replaced(reading, call, span(reading, call.func), "(", *listed(arguments), ")"),)

    yield from findings(
        reading, RULE.code, "fields of an optimizer are replaced", ".replace(params=...)", edits_of
    )


def _step(
    reading: Reading, call: ast.Call, state: ast.expr, imports: ImportPlan
) -> list[Fragments]:
    """``step=n`` and the counts of optax in place of ``state=x.state.replace(step=n)``."""
    assert isinstance(call.func, ast.Attribute) and isinstance(state, ast.Call)
    optax = imports.name_of("optax", call)
    int32 = imports.name_of("jax.numpy:int32", call)
    asarray = imports.name_of("jax.numpy:asarray", call)
    step: Fragments = (f"{asarray}(", span(reading, state.keywords[0].value), f", {int32})")
    receiver = span(reading, call.func.value)
    setting = (f"opt_state={optax}.tree_utils.tree_set(", receiver, ".opt_state, count=")
    return [("step=", *step), (*setting, *step, ")")]
