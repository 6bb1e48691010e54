"""Settings of flax that bring an old behaviour back, written behind the imports of a file."""

from __future__ import annotations

import ast

from flaxoptim_compat.migrate.edits import Edit
from flaxoptim_compat.migrate.finding import Change, Finding
from flaxoptim_compat.migrate.imports import ImportPlan
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.successors.statements import gap_after_imports


def set_once(
    reading: Reading, code: str, node: ast.expr, what: str, setting: str, value: bool
) -> Finding:
    """Change a setting behind the imports.

    Args:
      reading: the file; it does not mention the setting.
      code: the rule.
      node: what needs it.
      what: what that is, for people.
      setting: the name of the setting.
      value: its value.
    """
    start, end = reading.document.span(node)
    instead = f'flax.config.update("{setting}", {value})'
    gap = gap_after_imports(reading.document)
    if gap is None:
        reason = f"{what}: call {instead} first"
        return Finding(code, start, end, what, instead, None, None, reason=reason)

    def edits(imports: ImportPlan) -> tuple[Edit, ...]:
        config = imports.name_of("flax:config", gap.following)
        return gap.edits(f'{config}.update("{setting}", {value})')

    return Finding(code, start, end, what, instead, Change(edits), Change(edits))
