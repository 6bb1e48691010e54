"""What the names in a file stand for, in code, in annotations in quotes, and in strings."""

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
from typing import Any

import pytest

from flaxoptim_compat import migrate
from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.program.document import Document
from tests.migrate.names.names_in_texts import (
    ADAM,
    OPTIM,
    exporter_of,
    meaning,
    names_of,
    uses,
)

FLAX = "import flax\n"

MEANINGS: dict[str, str | None] = {
    # imports
    "import flax\nflax.optim.Adam": ADAM,
    "import flax.optim as o\no.Adam": ADAM,
    "from flax import optim as o\no.Adam": ADAM,
    "from flax.optim import Adam as A\nA": ADAM,
    "from flax.optim.adam import Adam\nAdam": "flax.optim.adam.Adam",
    "import flax\nflax": "flax",
    "flax.optim.Adam": None,
    "from . import optim\noptim.Adam": None,
    # what is no name
    "import flax\nf(flax).optim.Adam": None,
    # scopes
    f"{OPTIM}def f(optim):\n  optim.Adam": None,
    f"{OPTIM}def f():\n  optim.Adam\n  optim = 1": None,
    f"{OPTIM}def f():\n  for i, (optim, j) in x: pass\n  optim.Adam": None,
    f"{OPTIM}def f():\n  with x as optim:\n    optim.Adam": None,
    f"{OPTIM}def f():\n  try: pass\n  except E as optim:\n    optim.Adam": None,
    f"{OPTIM}def f():\n  [optim := 1 for i in x]\n  optim.Adam": None,
    f"{OPTIM}def f():\n  match x:\n    case [1, *optim]: pass\n  optim.Adam": None,
    f"{OPTIM}def f():\n  match x:\n    case {{'a': 1, **optim}}: pass\n  optim.Adam": None,
    f"{OPTIM}def f():\n  del optim\n  optim.Adam": None,
    f"{OPTIM}def f():\n  import torch.optim as optim\n  optim.Adam": "torch.optim.Adam",
    f"{OPTIM}def f():\n  def g():\n    optim = 1\n  optim.Adam": ADAM,
    f"{OPTIM}def f(optim):\n  def g():\n    optim.Adam": None,
    f"{OPTIM}class A:\n  optim = 1\n  def f(self):\n    optim.Adam": ADAM,
    f"{OPTIM}class A:\n  optim.Adam\n  optim = 1": ADAM,
    f"{OPTIM}[i for optim in x]\noptim.Adam": ADAM,
    f"{OPTIM}def f():\n  global optim\n  optim.Adam": ADAM,
    "def f():\n  global optim\n  from flax import optim\ndef g():\n  optim.Adam": ADAM,
    f"{OPTIM}def f():\n  global optim\n  optim = 1\noptim.Adam": None,
    "def f():\n  from flax import optim\n  def g():\n    nonlocal optim\n    optim.Adam": ADAM,
    f"def f():\n  {OPTIM}  def g():\n    nonlocal optim\n    optim = 1\n  optim.Adam": None,
    "def f():\n  from flax import optim\noptim.Adam": None,
    "def f():\n  optim.Adam\nfrom flax import optim": ADAM,
    # several bindings
    (
        "try:\n  from flax import optim\nexcept E:\n"
        "  from flaxoptim_compat import optim\noptim.Adam"
    ): ADAM,
    "try:\n  from flax import optim\nexcept E:\n  optim = None\noptim.Adam": ADAM,
    "try:\n  from flax import optim\nexcept E:\n  import optax as optim\noptim.Adam": None,
    "if x:\n  from flax import optim\nelse:\n  from torch import optim\noptim.Adam": None,
    f"{OPTIM}optim = f()\noptim.Adam": None,
    f"{OPTIM}optim: 'Any'\noptim.Adam": ADAM,
    # assignments
    f"{FLAX}o = flax.optim\no.Adam": ADAM,
    f"{FLAX}A: type = flax.optim.Adam\nA": ADAM,
    f"{FLAX}A, B = flax.optim.Adam, 1\nA": ADAM,
    f"{FLAX}A, *B = flax.optim.Adam, 1\nA": None,
    f"{FLAX}o = flax.optim if x else None\no.Adam": None,
    f"{FLAX}o = flax.optim\no = flax.optim\no.Adam": ADAM,
    f"{OPTIM}class A:\n  optim = optim\n  optim.Adam": ADAM,
    "a = b\nb = a\na.Adam": None,
    # look-ups
    f"{FLAX}getattr(getattr(flax, 'optim'), 'Adam', None)": ADAM,
    f"{FLAX}getattr(flax.optim, name)": None,
    f"{FLAX}getattr(flax.optim, 'a b')": None,
    # all names of a module
    "from flax.optim import *\nAdam": ADAM,
    "from flax.optim import *\nSGD": None,
    "from flax.optim import *\nclass Adam: ...\nAdam": None,
    "from flax.optim import *\nfrom torch.optim import *\nAdam": None,
    "from flax.optim.adam import *\n_AdamParamState": None,
}


@pytest.mark.parametrize("text", MEANINGS)
def test_full_names(text: str) -> None:
    assert meaning(text) == MEANINGS[text]


def test_uses_stand_in_their_order() -> None:
    text = (
        "from flax import optim as o\nimport importlib\n@o.x\ndef f(a: 'o.Optimizer' = o.y):\n"
        "  return importlib.import_module('flax.optim').Adam, getattr(o, 'LAMB')(o.z)\n"
        "p = o.adam\np.Adam\np\n"
    )
    assert uses(text) == [
        ("optim as o", "flax.optim", "optim", "import"),
        ("importlib", "importlib", "importlib", "import"),
        ("o.x", "flax.optim.x", "optim", "import"),
        ("o.Optimizer", "flax.optim.Optimizer", "optim", "import"),
        ("o.y", "flax.optim.y", "optim", "import"),
        (
            "importlib.import_module",
            "importlib.import_module",
            "importlib",
            "import",
        ),
        ("getattr(o, 'LAMB')", "flax.optim.LAMB", "optim", "import"),
        ("o.z", "flax.optim.z", "optim", "import"),
        ("o.adam", "flax.optim.adam", "optim", "import"),
        ("p.Adam", "flax.optim.adam.Adam", "", "variable"),
    ]


def test_the_import_that_a_root_is_bound_by() -> None:
    text = (
        "import flax\nimport flax.optim\nimport flax.linen\nflax.optim.Adam, flax.x, flax.linen.y"
    )
    bound = {name: binding for _, name, binding, _ in uses(text)[3:]}
    assert bound == {ADAM: "flax.optim", "flax.x": "flax", "flax.linen.y": "flax.linen"}


def test_what_is_not_understood() -> None:
    text = "from flax import optim\nif x:\n  optim = f()\noptim.Adam, optim\n"
    names = names_of(text)
    assert [(names.document.source(node), why) for node, why in names.unknown] == [
        ("optim.Adam", "optim is bound to something else as well"),
        ("optim", "optim is bound to something else as well"),
    ]
    assert names_of("import flax\nif x:\n  flax = f()\nflax.linen\n").unknown == []


def test_a_variable_of_which_each_value_is_known_is_understood() -> None:
    text = "from flax import optim\ncls = optim.Adam\nif x:\n  cls = {}\ncls(0.1)\n"
    assert names_of(text.format("optim.LAMB")).unknown == []
    assert len(names_of(text.format("f()")).unknown) == 1
    assert len(names_of(text.format("optim.LAMB").replace("cls(", "cls.x(")).unknown) == 1


def test_a_name_that_nothing_binds_is_not_understood() -> None:
    names = names_of("from somewhere import *\nflax.optim.Adam, flax.linen, optim.Adam\n")
    assert [(names.document.source(node), why) for node, why in names.unknown] == [
        ("flax.optim.Adam", "flax is not imported in any file that is read"),
    ]


def test_names_that_are_taken() -> None:
    text = "import a.b\ndef f(c, *d):\n  global e\n  for g in h: pass\n  x.y\nclass i: ...\n"
    assert names_of(text).taken >= {"a", "f", "c", "d", "g", "h", "x", "i"}
    assert "y" not in names_of(text).taken


def program(functions: int) -> str:
    body = "    x = optim.Adam(a.b, c=d[0]).create([optim.x for y in range(3)])\n    return x\n"
    return OPTIM + "".join(f"def f{i}(a, d):\n{body}" for i in range(functions))


def steps(text: str) -> int:
    """How many calls of Python functions it takes to read the names of a file."""
    document = Document(Path("a.py"), text, ast.parse(text))
    exporter = exporter_of(document, None)
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        del frame, argument
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        Names(document, exporter)
    finally:
        sys.setprofile(None)
    return count


def test_the_work_grows_with_the_file_and_no_faster() -> None:
    small, large = steps(program(50)), steps(program(200))
    assert large < 4.2 * small
    nodes = sum(1 for _ in ast.walk(ast.parse(program(200))))
    assert large < 15 * nodes


def test_deeply_nested_scopes_stay_linear() -> None:
    def nested(depth: int) -> str:
        return "".join(f"{' ' * i}def f{i}():\n" for i in range(depth)) + " " * depth + "f0\n"

    assert steps(nested(80)) < 4.2 * steps(nested(20))


QUOTED = {
    "def f(x: 'o.Adam'): ...": ["o.Adam"],
    "def f() -> 'list[o.Adam] | None': ...": ["o.Adam"],
    "x: dict[str, 'o.Adam'] = {}": ["o.Adam"],
    "ä: ('ä', 'o.Adam')": ["o.Adam"],
    "class A:\n  x: ' o.Adam'": ["o.Adam"],
    "from typing import Literal\nx: Literal['o.Adam']": [],
    "from typing import cast\nx = cast('o.Adam', f('o.Adam'))": [],
    "x: 'o.' 'Adam'": [],
    "x: '\\x6f.Adam'": [],
    "x: 'see o.Adam'": [],
    "class A:\n  def o(self): ...\n  def f(self, x: 'o.Adam'): ...": [],
}


@pytest.mark.parametrize("text", QUOTED)
def test_annotations_in_quotes(text: str) -> None:
    names = names_of(f"from flax import optim as o\n{text}\n")
    found = [use for use in names.uses if use.node in names.quoted]
    assert [names.document.source(use.node) for use in found] == QUOTED[text]
    for use in found:
        assert use.name == ADAM
        statement = names.document.statement(use.node)
        assert names.document.statement(names.quoted[use.node]) is statement


STRINGS = {
    ADAM: (ADAM,),
    f"a/{ADAM}.beta1=0.9\ntrain.d = @{ADAM}()": (f"{ADAM}.beta1", ADAM),
    f"uses {ADAM} here": (),
    "my.flax.optim.Adam": (),
    "see flax.optim.": (),
}


@pytest.mark.parametrize("text", STRINGS)
def test_names_in_strings(text: str) -> None:
    names = names_of(f"'''{text}'''\nx = {text!r}\n")
    assert [found for _, found in names.strings] == ([STRINGS[text]] if STRINGS[text] else [])


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
