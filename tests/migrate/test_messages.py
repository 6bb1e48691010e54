"""Who reads a message has never seen this program's inside: its sentences have subjects."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import flaxoptim_compat

PACKAGE = Path(flaxoptim_compat.__file__).parent
FILES = [*sorted((PACKAGE / "migrate").rglob("*.py")), PACKAGE / "cli/scan.py"]
FORBIDDEN = re.compile(r"(?:What|Its?|Which|Whose|They)\b|what (?:`|\{|is|has)|its ")


def messages(file: Path) -> Iterator[str]:
    """The strings of a file, as far as they are no docstrings: of f-strings the beginnings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    left_out = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            left_out.update(map(id, node.values[1:]))
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in left_out:
                yield text


def test_no_message_begins_without_a_noun() -> None:
    found = [(file, each) for file in FILES for each in messages(file) if FORBIDDEN.match(each)]
    assert found == []
