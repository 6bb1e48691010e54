"""Which files are parsed at all: those with words of what is gone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import import_names
from flaxoptim_compat.migrate.program.mentions import imports_in, mentions_in

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
