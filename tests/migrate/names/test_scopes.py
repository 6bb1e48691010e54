"""The scopes of a file, as Python makes them."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import symtable
import sys
import typing
from collections.abc import Iterable
from pathlib import Path

import pytest

from flaxoptim_compat import migrate
from tests.migrate.names.names_in_texts import names_of

OWN_FILES = sorted(Path(migrate.__file__).parent.rglob("*.py"))
OTHERS = [Path(each.__file__ or "") for each in (ast, dataclasses, enum, inspect, typing)]


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="its tables have no scopes of comprehensions any more"
)
@pytest.mark.parametrize("path", [*OWN_FILES[::6], *OTHERS], ids=lambda path: path.stem)
def test_scopes_bind_the_names_that_python_says(path: Path) -> None:
    text = path.read_text()
    expected: dict[tuple[str, int], list[list[str]]] = {}
    tables = [symtable.symtable(text, str(path), "exec")]
    for table in tables:
        tables += table.get_children()
        bound = (each.get_name() for each in table.get_symbols() if each.is_local())
        if table.get_type() != "module":
            place = (table.get_type(), table.get_lineno())
            expected.setdefault(place, []).append(unmangled(bound))
    found: dict[tuple[str, int], list[list[str]]] = {}
    for node, scope in names_of(text).walk.scopes.items():
        if not isinstance(node, ast.Module):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            place = (kind, getattr(node, "lineno", 0))
            found.setdefault(place, []).append(unmangled(scope.bindings))
    assert {place: sorted(each) for place, each in found.items()} == {
        place: sorted(each) for place, each in expected.items()
    }


def unmangled(names: Iterable[str]) -> list[str]:
    """Names without those of Python's own, and without private ones, which have the class in."""
    return sorted(each for each in names if "." not in each and "__" not in each)
