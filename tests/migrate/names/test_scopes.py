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
from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.program.document import Document
from tests.support.names_in_texts import ADAM, OPTIM, names_of

# Python 3.12 parses `def f[optim]`; here the tree is made as it makes it.
TYPE_PARAMETERS = {
    f"{OPTIM}def f(x: optim.Adam) -> optim.Adam:\n  optim.Adam": 0,
    f"{OPTIM}class A(optim.Adam):\n  def f(self):\n    optim.Adam": 0,
    f"{OPTIM}@optim.Adam\ndef f(): ...\noptim.Adam": 2,
}


@pytest.mark.parametrize("text", TYPE_PARAMETERS)
def test_type_parameters(text: str) -> None:
    tree = ast.parse(text)
    parameter = ast.parse("def f(optim): ...").body[0]
    assert isinstance(parameter, ast.FunctionDef)
    parameter.name, parameter.body = "optim", []
    tree.body[1].type_params = [parameter]
    names = Names(Document(Path("a.py"), text, tree))
    assert [use.name for use in names.uses].count(ADAM) == TYPE_PARAMETERS[text]


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
