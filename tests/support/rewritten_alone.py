"""Rewriting one text that has nothing to do with other files or with optimizers."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from flaxoptim_compat.migrate.analysis import analyse_alone
from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.rewriting import rewritten


def findings_in(text: str, ignored: Mapping[int, frozenset[str]] | None = None) -> list[Finding]:
    """What the rules find in a text.

    Args:
      text: Python.
      ignored: for each line the codes that are not wanted.
    """
    document = Document(Path("program.py"), text, ast.parse(text))
    return analyse_alone(document, ignored or {}).findings


def rewrite(
    text: str, target: str = "shim", ignored: Mapping[int, frozenset[str]] | None = None
) -> str:
    """What ``rewrite`` makes of a text; to rewrite it again must change nothing.

    Args:
      text: Python.
      target: ``shim`` or ``optax``.
      ignored: for each line the codes that are not wanted.
    """
    found = analyse_alone(Document(Path("program.py"), text, ast.parse(text)), ignored or {})
    result = rewritten(found, target).text
    ast.parse(result)
    if ignored is None:
        again = Document(Path("program.py"), result, ast.parse(result))
        assert rewritten(analyse_alone(again, {}), target).text == result
    return result
