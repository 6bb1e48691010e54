"""``EarlyStopping.update`` of ``flax.training``, which returned a pair and returns one object."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Fragments, Span
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.found import Found
from flaxoptim_compat.migrate.rules.rule import Rule

RULE = Rule("FOC174", "early-stopping")
_CLASS = "flax.training.early_stopping.EarlyStopping"
_WHAT = "the pair that EarlyStopping.update returned before flax 0.7.5"
_INSTEAD = "stopping = stopping.update(metric); stopping.has_improved"


def find(reading: Reading) -> Iterator[Found]:
    """The statements that take such a pair apart, each as two of today."""
    made = set(_made(reading))
    for statement in reading.document.of_kind(ast.Assign) if made else ():
        match statement:
            case ast.Assign(
                targets=[ast.Tuple() as pair, *_],
                value=ast.Call(func=ast.Attribute(value=stopping, attr="update")),
            ) if ast.unparse(stopping) in made:
                text = _text(reading, statement, pair)
                edits = None if text is None else (Edit(*reading.document.span(statement), text),)
                reason = "" if edits else f"{_WHAT}: write {_INSTEAD}"
                yield Found(statement, _WHAT, _INSTEAD, edits, reason)
            case _:
                pass


def _made(reading: Reading) -> Iterator[str]:
    """What the file assigns such an object to."""
    for use in reading.names.uses:
        call = reading.document.parents.get(use.node) if use.name == _CLASS else None
        if isinstance(call, ast.Call) and call.func is use.node:
            statement = reading.document.parents[call]
            if isinstance(statement, ast.Assign):
                yield from map(ast.unparse, statement.targets)


def _text(reading: Reading, statement: ast.Assign, target: ast.Tuple) -> Fragments | None:
    """The two statements; None where they cannot stand in the place of this one."""
    document = reading.document
    if len(statement.targets) > 1 or len(target.elts) != 2:
        return None
    if not document.has_its_lines(statement) or not all(
        isinstance(each, ast.Name | ast.Attribute) for each in target.elts
    ):
        return None
    improved, stopping, call = (
        Span(*document.span(each)) for each in (*target.elts, statement.value)
    )
    updated: Fragments = (stopping, " = ", call)
    if document.source(target.elts[0]) == "_":
        return updated
    return (*updated, f"\n{document.before(statement)}", improved, " = ", stopping, ".has_improved")
