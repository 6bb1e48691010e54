"""What the names in a file stand for: aliases, scopes, assignments, strings, other files."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import symtable
import sys
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat import migrate
from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.names import Names

Exports = Mapping[str, Mapping[str, str]]


def names_of(
    text: str, exports: Exports | None = None, module: str = "", is_package: bool = False
) -> Names:
    document = Document(Path("a.py"), text, ast.parse(text), module, is_package)
    return Names(document, exports)


def meaning(text: str, exports: Exports | None = None, **more: Any) -> str | None:
    """The full name of the last expression of a text that starts a line of its own."""
    names = names_of(text, exports, **more)
    statements = [each for each in ast.walk(names.document.tree) if isinstance(each, ast.Expr)]
    last = max(statements, key=lambda each: each.lineno)
    return names.full_name(last.value)


ADAM = "flax.optim.Adam"
FLAX = "import flax\n"
OPTIM = "from flax import optim\n"

MEANINGS: dict[str, str | None] = {
    # imports
    "import flax\nflax.optim.Adam": ADAM,
    "import flax.optim\nflax.optim.Adam": ADAM,
    "import flax.optim as o\no.Adam": ADAM,
    "import flax.linen\nimport flax\nflax.optim.Adam": ADAM,
    "from flax import optim\noptim.Adam": ADAM,
    "from flax import optim as o\no.Adam": ADAM,
    "from flax.optim import Adam\nAdam": ADAM,
    "from flax.optim import Adam as A\nA": ADAM,
    "from flax.optim.adam import Adam\nAdam": "flax.optim.adam.Adam",
    "import jax.numpy as jnp\njnp.float32": "jax.numpy.float32",
    "from jax import jit as f\nf": "jax.jit",
    "import flax\nflax": "flax",
    "flax.optim.Adam": None,
    "from . import optim\noptim.Adam": None,
    # what is no name
    "import flax\nf(flax).optim.Adam": None,
    "import flax\n(flax or 1).optim": None,
    "import flax\nflax[0].optim": None,
    # scopes
    f"{OPTIM}def f():\n  optim.Adam": ADAM,
    f"{OPTIM}def f(optim):\n  optim.Adam": None,
    f"{OPTIM}def f(*optim):\n  optim.Adam": None,
    f"{OPTIM}def f(**optim):\n  optim.Adam": None,
    f"{OPTIM}def f(*, optim):\n  optim.Adam": None,
    f"{OPTIM}def f(optim, /):\n  optim.Adam": None,
    f"{OPTIM}def f():\n  optim = 1\n  optim.Adam": None,
    f"{OPTIM}def f():\n  optim.Adam\n  optim = 1": None,
    f"{OPTIM}def f():\n  optim += 1\n  optim.Adam": None,
    f"{OPTIM}def f():\n  for optim in x: pass\n  optim.Adam": None,
    f"{OPTIM}def f():\n  for i, (optim, j) in x: pass\n  optim.Adam": None,
    f"{OPTIM}def f():\n  with x as optim:\n    optim.Adam": None,
    f"{OPTIM}async def f():\n  async with x as optim:\n    optim.Adam": None,
    f"{OPTIM}def f():\n  try: pass\n  except E as optim:\n    optim.Adam": None,
    f"{OPTIM}def f():\n  if (optim := 1):\n    optim.Adam": None,
    f"{OPTIM}def f():\n  [optim := 1 for i in x]\n  optim.Adam": None,
    f"{OPTIM}def f():\n  match x:\n    case optim: pass\n  optim.Adam": None,
    f"{OPTIM}def f():\n  match x:\n    case [1, *optim]: pass\n  optim.Adam": None,
    f"{OPTIM}def f():\n  match x:\n    case {{'a': 1, **optim}}: pass\n  optim.Adam": None,
    f"{OPTIM}def f():\n  match x:\n    case A(optim): pass\n  optim.Adam": None,
    f"{OPTIM}def f():\n  del optim\n  optim.Adam": None,
    f"{OPTIM}def f():\n  import torch.optim as optim\n  optim.Adam": "torch.optim.Adam",
    f"{OPTIM}def f():\n  def optim(): pass\n  optim.Adam": None,
    f"{OPTIM}def f():\n  class optim: pass\n  optim.Adam": None,
    f"{OPTIM}def f():\n  def g():\n    optim = 1\n  optim.Adam": ADAM,
    f"{OPTIM}def f(optim):\n  def g():\n    optim.Adam": None,
    f"{OPTIM}def f(optim):\n  pass\noptim.Adam": ADAM,
    f"{OPTIM}class A:\n  optim = 1\n  def f(self):\n    optim.Adam": ADAM,
    f"{OPTIM}class A:\n  optim = 1\n  optim.Adam": None,
    f"{OPTIM}class A:\n  optim.Adam\n  optim = 1": ADAM,
    f"{OPTIM}[i for optim in x]\noptim.Adam": ADAM,
    f"{OPTIM}def f():\n  global optim\n  optim.Adam": ADAM,
    "def f():\n  global optim\n  from flax import optim\ndef g():\n  optim.Adam": ADAM,
    f"{OPTIM}def f():\n  global optim\n  optim = 1\noptim.Adam": None,
    "def f():\n  from flax import optim\n  def g():\n    nonlocal optim\n    optim.Adam": ADAM,
    f"def f():\n  {OPTIM}  def g():\n    nonlocal optim\n    optim = 1\n  optim.Adam": None,
    "def f():\n  from flax import optim\noptim.Adam": None,
    "def f():\n  optim.Adam\nfrom flax import optim": ADAM,
    "def f():\n  from flax import optim\n  optim.Adam": ADAM,
    # several bindings
    f"{OPTIM}{OPTIM}optim.Adam": ADAM,
    (
        "try:\n  from flax import optim\nexcept E:\n"
        "  from flaxoptim_compat import optim\noptim.Adam"
    ): ADAM,
    (
        "try:\n  from flaxoptim_compat import optim\nexcept E:\n"
        "  from flax import optim\noptim.Adam"
    ): ADAM,
    (
        "try:\n  from flax.optim import Adam\nexcept E:\n  from flaxoptim_compat import Adam\nAdam"
    ): ADAM,
    "try:\n  from flax import optim\nexcept E:\n  optim = None\noptim.Adam": ADAM,
    "try:\n  from flax import optim\nexcept E:\n  import optax as optim\noptim.Adam": None,
    "if x:\n  from flax import optim\nelse:\n  from torch import optim\noptim.Adam": None,
    f"{OPTIM}optim = f()\noptim.Adam": None,
    f"{OPTIM}optim: 'Any'\noptim.Adam": ADAM,
    f"{OPTIM}optim.Adam\ndel optim": ADAM,
    # assignments
    f"{FLAX}o = flax.optim\no.Adam": ADAM,
    f"{FLAX}A = flax.optim.Adam\nA": ADAM,
    f"{FLAX}A: type = flax.optim.Adam\nA": ADAM,
    f"{FLAX}A = B = flax.optim.Adam\nA": ADAM,
    f"{FLAX}A, B = flax.optim.Adam, 1\nA": ADAM,
    f"{FLAX}A, *B = flax.optim.Adam, 1\nA": None,
    f"{FLAX}A = flax.optim.Adam()\nA": None,
    f"{FLAX}o = flax.optim if x else None\no.Adam": None,
    f"{FLAX}o = flax.optim\no = 1\no.Adam": None,
    f"{FLAX}o = flax.optim\no = flax.optim\no.Adam": ADAM,
    f"{OPTIM}class A:\n  optim = optim\n  optim.Adam": ADAM,
    f"{OPTIM}def f():\n  A = optim.Adam\n  A": ADAM,
    "a = b\nb = a\na.Adam": None,
    # look-ups
    f"{FLAX}getattr(flax, 'optim').Adam": ADAM,
    f"{FLAX}getattr(flax.optim, 'Adam')": ADAM,
    f"{FLAX}getattr(getattr(flax, 'optim'), 'Adam', None)": ADAM,
    f"{FLAX}getattr(flax.optim, name)": None,
    f"{FLAX}getattr(flax.optim, 'a b')": None,
    "import importlib\nimportlib.import_module('flax.optim').Adam": ADAM,
    "from importlib import import_module as i\ni('flax.optim').Adam": None,
    "from importlib import import_module\nimport_module('flax.optim').Adam": ADAM,
    "import importlib\nimportlib.import_module('.optim', 'flax').Adam": None,
    "class importlib: ...\nimportlib.import_module('flax.optim').Adam": None,
    "__import__('flax').optim.Adam": ADAM,
    "__import__('flax.optim').optim.Adam": ADAM,
    "__import__('flax.optim', fromlist=['Adam']).Adam": None,
    "import importlib\no = importlib.import_module('flax.optim')\no.Adam": ADAM,
    # all names of a module
    "from flax.optim import *\nAdam": ADAM,
    "from flax.optim import *\nadam.Adam": "flax.optim.adam.Adam",
    "from flax.optim import *\nSGD": None,
    "from flax.optim import *\nclass Adam: ...\nAdam": None,
    "from flax.optim import *\nfrom torch.optim import *\nAdam": None,
    "from flax.optim.adam import *\n_AdamParamState": None,
}


@pytest.mark.parametrize("text", MEANINGS)
def test_full_names(text: str) -> None:
    assert meaning(text) == MEANINGS[text]


EXPORTS = {
    "p.opt": {"Adam": ADAM, "o": "flax.optim", "_hidden": ADAM},
    "p": {"A": "p.opt.Adam"},
    "circle": {"a": "circle.a"},
    "src.lib": {"Adam": ADAM},
}

# {(module, text): the full name}
OTHER_FILES = {
    ("p.q", "from p.opt import Adam\nAdam"): ADAM,
    ("p.q", "from .opt import Adam as A\nA"): ADAM,
    ("p.q", "from .opt import o\no.Adam"): ADAM,
    ("p.q", "from . import opt\nopt.Adam"): ADAM,
    ("p.q", "from . import opt\nopt.o.Adam"): ADAM,
    ("p.q.r", "from ..opt import Adam\nAdam"): ADAM,
    ("p.q", "from p import A\nA"): ADAM,
    ("p.q", "import p.opt as z\nz.Adam"): ADAM,
    ("p.q", "import p.opt\np.opt.Adam.x"): f"{ADAM}.x",
    ("p.q", "from opt import Adam\nAdam"): ADAM,
    ("", "from p.opt import Adam\nAdam"): ADAM,
    ("", "from .opt import Adam\nAdam"): None,
    ("p.q", "from ...opt import Adam\nAdam"): None,
    ("p.q", "from p.opt import *\nAdam"): ADAM,
    ("p.q", "from p.opt import *\n_hidden"): None,
    ("p.q", "from p.opt import other\nother"): "p.opt.other",
    ("p.q", "from lib import Adam\nAdam"): ADAM,
    ("p.q", "import circle\ncircle.a"): "circle.a",
}


@pytest.mark.parametrize(("module", "text"), OTHER_FILES)
def test_names_through_other_files(module: str, text: str) -> None:
    assert meaning(text, EXPORTS, module=module) == OTHER_FILES[module, text]


def test_relative_imports_of_a_package() -> None:
    text = "from .opt import Adam\nAdam"
    assert meaning(text, EXPORTS, module="p", is_package=True) == ADAM


@pytest.mark.parametrize("module", ["flax", "flax.optim", "src.flax", "p.flax", "p.flax.optim"])
def test_a_copy_of_flax_in_the_project_is_not_flax(module: str) -> None:
    for text in (
        "import flax\nflax.optim.Adam",
        "from flax import optim\noptim.Adam",
        "from flax.optim import *\nAdam",
        "import flax.optim as o\no.Adam",
        "import importlib\nimportlib.import_module('flax.optim').Adam",
    ):
        names = names_of(text, {module: {}}, "p.q")
        assert [use.name for use in names.uses if "flax" in use.name] == []
        assert meaning(text, {module: {}}, module="p.q") is None
    names = names_of("from . import optim\nfrom .optim.adam import Adam\n", {"flax": {}}, "flax.x")
    assert names.uses == []
    assert meaning("from flax import optim\noptim.Adam", {"other.flax": {}}, module="p.q") == ADAM


def test_what_is_taken_from_other_files() -> None:
    names = names_of("from .opt import Adam\nfrom p import A, B\nA", EXPORTS, "p.q")
    assert names.taken_from() == {("p.opt", "Adam"), ("p", "A")}
    assert names_of("from . import opt\nopt.o.x", EXPORTS, "p.q").taken_from() == {("p.opt", "o")}
    assert names_of("from .opt import *\no.x", EXPORTS, "p.q").taken_from() == {("p.opt", "o")}


def test_what_a_file_passes_on() -> None:
    text = (
        "import jax\nfrom flax import optim as o\nfrom flax.optim import Adam\nM = o.Momentum\n"
        "x = M()\ndef f():\n  from flax import y\ndef Adagrad(): ...\n"
    )
    assert names_of(text).exported() == {
        "jax": "jax",
        "o": "flax.optim",
        "Adam": ADAM,
        "M": "flax.optim.Momentum",
    }


def test_what_a_file_passes_on_by_a_star() -> None:
    exported = names_of("from flax.optim import *\ndef Adam(): ...\n").exported()
    assert exported["LAMB"] == "flax.optim.LAMB"
    assert "Adam" not in exported
    assert names_of("from .opt import *", EXPORTS, "p.q").exported() == {
        "Adam": ADAM,
        "o": "flax.optim",
    }


def test_modules_that_may_be_files_of_the_project() -> None:
    text = "import a.b\nfrom c import d\ndef f():\n  from . import e\n"
    found = names_of(text, module="p.q.f").project_imports()
    assert {"a", "a.b", "c", "c.d", "p.q", "p.q.e"} <= found
    assert {"p.q.a.b", "p.a.b", "a.b", "src.a.b", "p.c.d"} <= found


def uses(text: str, exports: Exports | None = None, module: str = "") -> list[tuple[str, ...]]:
    names = names_of(text, exports, module)
    return [
        (
            names.document.source(use.node),
            use.name,
            use.binding.name if use.binding else "",
            use.way,
        )
        for use in names.uses
    ]


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
        ("importlib.import_module('flax.optim').Adam", ADAM, "", "lookup"),
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


def test_uses_through_other_files() -> None:
    assert uses("from .opt import Adam, b\nAdam, b", EXPORTS, "p.q") == [
        ("Adam", ADAM, "", "project"),
        ("b", "p.opt.b", "b", "import"),
        ("Adam", ADAM, "", "project"),
        ("b", "p.opt.b", "b", "import"),
    ]


QUOTED = {
    "def f(x: 'o.Adam'): ...": ["o.Adam"],
    "def f() -> 'list[o.Adam] | None': ...": ["o.Adam"],
    "x: 'o.Adam'": ["o.Adam"],
    "x: dict[str, 'o.Adam'] = {}": ["o.Adam"],
    "x: '''o.Adam''' = 1": ["o.Adam"],
    "ä: ('ä', 'o.Adam')": ["o.Adam"],
    "class A:\n  x: ' o.Adam'": ["o.Adam"],
    "from typing import Literal\nx: Literal['o.Adam']": [],
    "x = 'o.Adam'": [],
    "from typing import cast\nx = cast('o.Adam', f('o.Adam'))": ["o.Adam"],
    "import typing as t\nT = t.TypeVar('T', bound='o.Adam')": ["o.Adam"],
    "import typing as t\nT = t.TypeVar('o.Adam', int, list['o.Adam'])": ["o.Adam"],
    "def f(x: t.cast(o, 'o.Adam')): ...": ["o.Adam"],
    "x = frame.cast('o.Adam')": [],
    "x: 'o.' 'Adam'": [],
    "x: '\\x6f.Adam'": [],
    "x: 'see o.Adam'": [],
    "def f(o, x: 'o.Adam'): ...": ["o.Adam"],
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
    "flax.optim": ("flax.optim",),
    ADAM: (ADAM,),
    f"{ADAM}.beta1 = 0.9": (ADAM + ".beta1",),
    f"a/{ADAM}.beta1=0.9\ntrain.d = @{ADAM}()": (f"{ADAM}.beta1", ADAM),
    f"train.d = @b/{ADAM}": (ADAM,),
    f"uses {ADAM} here": (),
    "my.flax.optim.Adam": (),
    "flax.optimizers": (),
    "see flax.optim.": (),
}


@pytest.mark.parametrize("text", STRINGS)
def test_names_in_strings(text: str) -> None:
    names = names_of(f"'''{text}'''\nx = {text!r}\n")
    assert [found for _, found in names.strings] == ([STRINGS[text]] if STRINGS[text] else [])


def test_a_string_that_another_cast_takes() -> None:
    names = names_of(f"frame.cast('{ADAM}')\n")
    assert [found for _, found in names.strings] == [(ADAM,)]


def test_what_is_not_understood() -> None:
    text = "from flax import optim\nif x:\n  optim = f()\noptim.Adam, optim\n"
    names = names_of(text)
    assert [(names.document.source(node), why) for node, why in names.unknown] == [
        ("optim.Adam", "optim is bound to something else as well"),
        ("optim", "optim is bound to something else as well"),
    ]
    assert names_of("import flax\nif x:\n  flax = f()\nflax.linen\n").unknown == []


def test_names_that_are_taken() -> None:
    text = "import a.b\ndef f(c, *d):\n  global e\n  for g in h: pass\n  x.y\nclass i: ...\n"
    assert names_of(text).taken >= {"a", "f", "c", "d", "g", "h", "x", "i"}
    assert "y" not in names_of(text).taken


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


def program(functions: int) -> str:
    body = "    x = optim.Adam(a.b, c=d[0]).create([optim.x for y in range(3)])\n    return x\n"
    return OPTIM + "".join(f"def f{i}(a, d):\n{body}" for i in range(functions))


def steps(text: str, exports: Exports | None = None) -> int:
    """How many calls of Python functions it takes to read the names of a file."""
    document = Document(Path("a.py"), text, ast.parse(text))
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        del frame, argument
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        Names(document, exports)
    finally:
        sys.setprofile(None)
    return count


def test_the_work_grows_with_the_file_and_no_faster() -> None:
    small, large = steps(program(50)), steps(program(200))
    assert large < 4.2 * small
    nodes = sum(1 for _ in ast.walk(ast.parse(program(200))))
    assert large < 15 * nodes


def test_other_files_cost_nothing_that_grows_with_them() -> None:
    few, many = ({f"p.m{i}": {"x": "jax.x"} for i in range(n)} for n in (10, 1000))
    _, small, _, large = (steps(program(5), each) for each in (few, few, many, many))
    assert large < small + 20  # the profiler itself is in the count now and then


def test_deeply_nested_scopes_stay_linear() -> None:
    def nested(depth: int) -> str:
        return "".join(f"{' ' * i}def f{i}():\n" for i in range(depth)) + " " * depth + "f0\n"

    assert steps(nested(80)) < 4.2 * steps(nested(20))
