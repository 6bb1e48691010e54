"""Which files are read because they take names from others."""

from __future__ import annotations

from pathlib import Path

import pytest

from flaxoptim_compat.migrate.program.linking import Links, Module, attributes_in, imports_in
from flaxoptim_compat.migrate.program.mentions import Mentions

LINKED = {
    "from lib.common import Adam": True,
    "from common import (\n  other,  # why\n  Adam as A,\n)": True,
    "from .common import Adam": True,
    "from . import common\ncommon.Adam": True,
    "from lib import common as c\nc.Adam": True,
    "import lib.common\nlib.common.Adam": True,
    "from common import *": True,
    "from common import \\\n  Adam": True,
    '   "from common import Adam\\n",': True,
    "from lib import again\nagain.here.Adam": True,
    "from lib.again import A": True,
    "from lib.train import anything": True,
    "from common import Other": False,
    "from common import Other  # not Adam": False,
    "from torch.common import Adam": False,
    "from ..common import Adam": False,
    "from lib import common\ncommon.Other": False,
    "from lib.again import Adam": False,
    "Adam = common = 1": False,
}


def module(name: str, text: str, exports: frozenset[str] = frozenset(), **what: bool) -> Module:
    imports = imports_in(text.encode())
    return Module(name, False, imports, exports, Mentions(**what), Path(*name.split(".")).parent)


@pytest.mark.parametrize("source", LINKED)
def test_files_that_take_names_from_others(source: str) -> None:
    again = "from .common import Adam as A\nfrom . import common as here"
    modules = [
        module("src.lib.common", "from flax import optim", exports=frozenset({"Adam"})),
        module("src.lib.again", again),
        module("src.lib.train", "", optimizers=True),
        module("src.lib.use", source),
    ]
    texts = ["", again, "", source]
    links = Links(modules, lambda number: attributes_in(texts[number].encode()))
    assert (3 in links.linked) == LINKED[source]
    # What a name comes through is read as well.
    assert {0, 1, 2} <= links.linked


def test_what_imports_a_file_with_optimizers_is_read_however_far() -> None:
    modules = [
        module("agents", "from flax import optim", optimizers=True),
        module("public", "from agents import Agent"),
        module("between", "import public, other"),
        module("use", "from between import public"),
        module("other", ""),
        module("apart", "import other"),
    ]
    links = Links(modules, lambda number: ())
    assert links.linked == {0, 1, 2, 3}


@pytest.mark.parametrize("where", ["agents.dqn", "other.dqn"])
def test_who_runs_modules_by_name_may_run_any_of_its_tree(where: str) -> None:
    modules = [
        module(f"{where}", "from flax import optim", optimizers=True),
        module("agents.utils.run", "import importlib", others=True),
    ]
    found = Links(modules, lambda number: ()).groups()
    assert found == ([[0, 1]] if where.startswith("agents.") else [[0]])


def test_what_a_fixture_makes_goes_to_the_tests_below_it() -> None:
    modules = [
        module("lib", "from flax import optim", optimizers=True),
        module("tests.conftest", "import lib"),
        module("tests.unit.test_a", ""),
        module("other.test_b", ""),
    ]
    assert Links(modules, lambda number: ()).groups() == [[0, 1, 2]]
