"""Methods and properties that arrays of jax have lost."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from flaxoptim_compat.legacy.calls.of_jax import METHODS
from flaxoptim_compat.legacy.calls.row import Lost
from flaxoptim_compat.migrate.editing.edits import Edit, Span
from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.successors.evident_values import is_array, is_result

RULE = Rule("FOC167", "array-methods")
_FUNCTION = re.compile(r"([\w.]+)\.(\w+)\(x\b.*")
_ROWS = {row.old.rpartition(".")[2]: row for row in METHODS}
_NAMES = frozenset(name.removesuffix("()") for name in _ROWS)
_MENTIONED = re.compile(rf"\.\s*(?:{'|'.join(sorted(_NAMES))})\b")


def find(reading: Reading) -> Iterator[Finding]:
    """What evident arrays are asked for, each with the edits that write it in another way."""
    if not _MENTIONED.search(reading.document.text):
        return
    for node in reading.document.of_kind(ast.Attribute):
        if node.attr not in _NAMES:
            continue
        whole: ast.expr = node
        parent = reading.document.parents[node]
        if isinstance(parent, ast.Call) and parent.func is node:
            whole = parent
        row = _ROWS.get(node.attr if whole is node else f"{node.attr}()")
        if row is None or not reading.allows(RULE.code, node):
            continue
        start, end = reading.document.span(whole)
        what = f"{row.old}, which arrays do not have any more"
        if is_array(reading, node.value):
            change = Change(functools.partial(_edits, reading, node, whole, row))
            yield Finding(RULE.code, start, end, what, row.today, change, change)
        elif is_result(reading, node.value):
            reason = f"{what}: if it is one, write {row.today}"
            yield Finding(RULE.code, start, end, what, row.today, None, None, reason=reason)


def _edits(
    reading: Reading, node: ast.Attribute, whole: ast.expr, row: Lost, imports: ImportPlan
) -> tuple[Edit, ...]:
    array = Span(*reading.document.span(node.value))
    start, end = reading.document.span(whole)
    function = _FUNCTION.fullmatch(row.today)
    if function is None:
        before, after = re.split(r"\bx\b", row.today)
        if isinstance(node.value, ast.BinOp):
            before, after = f"{before}(", f"){after}"
        return (Edit(start, end, (before, array, after)),)
    name = imports.name_of(f"{function[1]}:{function[2]}", whole)
    # Behind the parenthesis, with whatever stands there.
    given = Span(reading.document.text.index("(", reading.document.span(node)[1]) + 1, end)
    comma = ""
    if isinstance(whole, ast.Call) and (whole.args or whole.keywords):
        comma = "," if reading.document.text[given.start] == "\n" else ", "
    return (Edit(start, end, (f"{name}(", array, comma, given)),)
