"""Which files are parsed at all, and which are read together."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.program import linking
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import import_names
from flaxoptim_compat.migrate.program.linking import Links, ProgramFile
from flaxoptim_compat.migrate.program.loading import FoundFile
from flaxoptim_compat.migrate.program.mentions import imports_in, mentions_in

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
    assert found.near == {0, 1, 2, 3} and found.groups() == [[0, 1, 2, 3]]


@pytest.mark.parametrize("where", ["agents.dqn", "other.dqn"])
def test_who_runs_modules_by_name_may_run_any_of_its_tree(where: str) -> None:
    files = {where: OPTIM, "agents.utils.run": "import importlib\nimportlib.import_module(x)"}
    found = links(files).groups()
    assert found == ([[0, 1]] if where.startswith("agents.") else [[0]])


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
