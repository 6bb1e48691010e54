"""Which files are parsed at all, read together, and can run in one process."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.program import linking
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import import_names, imported_files
from flaxoptim_compat.migrate.program.linking import Links, Processes, ProgramFile
from flaxoptim_compat.migrate.program.loading import FoundFile
from flaxoptim_compat.migrate.program.mentions import imports_in, mentions_in
from tests.support.rewriting_texts import document, rewrite_all

OPTIM = "from flax import optim\n"
MAP = "import jax\n"
LINKED = {
    "import jax\nfrom lib.common import Adam": True,
    "import jax\nfrom common import (\n  other,  # why\n  Adam as A,\n)": True,
    "import jax\nfrom . import common": True,
    "import jax\nfrom common import \\\n  *": True,
    "import jax\nfrom torch.common import Adam": False,
    "import jax\nfrom ..common import Adam": False,
    "import jax\ncommon = 'from lib import common'": False,
}


def names_in(text: str) -> frozenset[str]:
    return frozenset(import_names(Document(Path("a.py"), text, ast.parse(text))))


def links(files: dict[str, str]) -> Links:
    parts = []
    for name, text in files.items():
        path = Path(*name.split(".")).with_suffix(".py")
        file = FoundFile(path, name.removesuffix(".__init__"), path.stem == "__init__", "")
        mentions, source = mentions_in(text.encode()), text.encode()
        imports = names_in(text) if mentions.old else imports_in(source)
        mentions = mentions._replace(optimizers=mentions.optimizers or mentions.optim)
        parts.append(ProgramFile(file, mentions, imports, mentions.old))
    return Links(parts)


@pytest.mark.parametrize("source", LINKED)
def test_files_that_import_each_other_are_read_together(source: str) -> None:
    found = links({"src.lib.common": MAP, "src.lib.use": source}).groups()
    assert found == ([[0, 1]] if LINKED[source] else [[0], [1]])


def test_what_imports_a_file_with_optimizers_is_read_however_far() -> None:
    found = links(
        {
            "agents": OPTIM,
            "public": "from agents import Agent",
            "between": "import public, other",
            "use": "from between import public",
            "other": "",
            "apart": "import other",
        }
    )
    # What `between` imports may be given an optimizer, what `apart` is never.
    assert found.near == {0, 1, 2, 3, 4} and found.groups() == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize("runs", ["agents.utils.run", "agents.__init__", "run"])
@pytest.mark.parametrize("where", ["agents.dqn", "other.dqn"])
def test_who_runs_modules_by_name_may_run_any_of_its_tree(where: str, runs: str) -> None:
    files = {where: OPTIM, runs: "import importlib\nimportlib.import_module(x)"}
    is_one_tree = where.startswith("agents.") or runs == "run"
    assert links(files).groups() == ([[0, 1]] if is_one_tree else [[0]])


def test_an_import_of_a_library_is_of_none_of_the_packages_called_like_it() -> None:
    files = {"lib.jax.__init__": "", "lib.jax.flax.__init__": MAP, "lib.jax.train": OPTIM + MAP}
    assert links(files).near == {2}
    files["lib.jax.flax.optim"] = ""
    assert links(files).near == {1, 2, 3}


def test_what_a_fixture_makes_goes_to_the_tests_below_it() -> None:
    files = {"lib": OPTIM, "tests.conftest": "import lib", "tests.unit.test_a": "", "x.test_b": ""}
    assert links(files).groups() == [[0, 1, 2]]


def test_files_of_a_folder_may_restore_what_another_saves() -> None:
    saves = f"{OPTIM}from flax import serialization\n"
    assert links({"a.x": saves, "a.y": saves, "b.z": saves}).groups() == [[0, 1], [2]]


def test_of_too_many_files_only_those_near_optimizers_are_read_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = {"lib": MAP, "agents": f"{OPTIM}import lib", "a": f"{MAP}import lib", "b": "import a"}
    assert links(files).groups() == [[0, 1, 2]]
    monkeypatch.setattr(linking, "_MOST_TOGETHER", 2)
    assert links(files).groups() == [[0, 1], [2]]


MENTIONED = (
    "import flax",
    '["%load_ext flaxoptim_compat\\n"]',
    "from numpy import float_",
    "from mylib import optim",
    "def f(o, g): return o.apply_gradient(g)",
    "def params(state): return state.optimizer.target",
)
NOT_MENTIONED = (
    "flaxen = ajax = 1",
    "import torch\ntorch.optimal.x",
    "self.target = 1",
)


@pytest.mark.parametrize("source", MENTIONED)
def test_files_that_may_use_what_is_gone_are_parsed(source: str) -> None:
    assert mentions_in(source.encode()).old


@pytest.mark.parametrize("source", NOT_MENTIONED)
def test_other_files_are_not(source: str) -> None:
    assert not mentions_in(source.encode()).old


IMPORTS = """\
import os.path, jax as j
if x:
  from flax.optim import Adam  # why
from .models import (
    mlp,  # one
    cnn as c,
)
from . import data, \\
    shapes
from.old import a
# import haiku
"""


def test_the_modules_that_a_file_may_import() -> None:
    expected = import_names(Document(Path("a.py"), IMPORTS, ast.parse(IMPORTS)))
    assert imports_in(IMPORTS.encode()) == {*expected}
    assert imports_in(b' "import haiku\\n",\n') >= {"haiku"}


def test_blank_lines_are_passed_once() -> None:
    # Each line tried with all blank ones behind it would take minutes.
    assert imports_in(b"import jax\n" + b"\n" * 200_000 + b"import flax\n") == {"flax", "jax"}


def together(program: dict[str, str], name: str) -> set[str]:
    documents = {each: document(text, each) for each, text in program.items()}
    processes = Processes(imported_files([*documents.values()]))
    names = {document: each for each, document in documents.items()}
    return {names[each] for each in processes.together_with(documents[name])}


# Programs, a file of each, and the other files that can run with it.
CASES = {
    "scripts with the same helpers": (
        {"a": "import helpers\n", "b": "import helpers\n", "helpers": ""},
        "a",
        "helpers",
    ),
    "files that import each other": ({"a": "import b\n", "b": "import a\n"}, "a", "b"),
    "a file that runs others by their names": (
        {
            "main": "import helpers, importlib\ntrain = importlib.import_module(NAME).train\n",
            "a": "import helpers\n",
            "helpers": "",
            "beside": "",
        },
        "a",
        "main helpers beside",
    ),
    "a file that runs text": (
        {"setup": "exec(text)\n", "a": "import helpers\n", "helpers": "", "b": ""},
        "a",
        "helpers",
    ),
    "the package around a file": (
        {"lib.__init__": "from . import a\n", "lib.a": "", "lib.b": "", "c": "import lib.b\n"},
        "lib.b",
        "lib.__init__ lib.a c",
    ),
    "fixtures of pytest": (
        {"conftest": "import helpers\n", "a": "import helpers\n", "helpers": ""},
        "a",
        "conftest helpers",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_runs_with_a_file(name: str) -> None:
    program, asked, others = CASES[name]
    assert together(program, asked) == {asked, *others.split()}


HELPERS = "def norm(grads):\n    return grads\n"
MAKES = (
    "import helpers\nfrom flax import optim\n\n\n"
    "def train(params, grads):\n    optimizer = optim.GradientDescent(0.1).create(params)\n"
    "    return optimizer.apply_gradient(helpers.norm(grads)).target\n"
)
STEPS = (
    "import helpers\nfrom flax import optim\n\n\n"
    "def step(optimizer: optim.Optimizer, grads):\n"
    "    return optimizer.apply_gradient(helpers.norm(grads)).lost\n"
)


@pytest.mark.parametrize("with_main", [False, True])
def test_an_obstacle_in_another_script_holds_nothing(with_main: bool) -> None:
    program = {"helpers": HELPERS, "a": MAKES, "b": STEPS}
    if with_main:
        program["main"] = "import a\nimport b\n\nb.step(a.train({}, {}), {})\n"
    rewritten = rewrite_all(program, "optax")
    assert ("TrainState.create(" in rewritten["a"]) is not with_main
    assert ("dual(" in rewritten["a"]) is with_main
    assert "optimizer.apply_gradient(helpers.norm(grads)).lost" in rewritten["b"]
