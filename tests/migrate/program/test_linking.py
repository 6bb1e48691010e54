"""Which files are read because they take names from others."""

from __future__ import annotations

from typing import Any

import pytest

from flaxoptim_compat.migrate.program.linking import Links, Module, attributes_in, imports_in

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


@pytest.mark.parametrize("source", LINKED)
def test_files_that_take_names_from_others(source: str) -> None:
    def module(name: str, text: str, **options: Any) -> Module:
        options = {"exports": frozenset(), "has_optimizers": False} | options
        return Module(f"src.lib.{name}", False, imports_in(text.encode()), **options)

    again = "from .common import Adam as A\nfrom . import common as here"
    modules = [
        module("common", "from flax import optim", exports=frozenset({"Adam"})),
        module("again", again),
        module("train", "", has_optimizers=True),
        module("use", source),
    ]
    texts = ["", again, "", source]
    links = Links(modules, lambda number: attributes_in(texts[number].encode()))
    assert (3 in links.linked) == LINKED[source]
    # What a name comes through is read as well.
    assert {0, 1, 2} <= links.linked


@pytest.mark.parametrize("asks", [True, False])
def test_what_may_ask_for_a_target_is_read_however_far_it_imports(asks: bool) -> None:
    def module(name: str, text: str, **options: Any) -> Module:
        options = {"exports": frozenset(), "has_optimizers": False} | options
        return Module(name, False, imports_in(text.encode()), **options)

    modules = [
        module("agents", "from flax import optim", has_optimizers=True),
        module("public", "from agents import Agent"),
        module("between", "import public, other"),
        module("use", "from between import public", asks_for_target=asks),
        module("other", ""),
        module("apart", "import other", asks_for_target=True),
    ]
    links = Links(modules, lambda number: ())
    assert links.linked == {0, 1, *((2, 3) if asks else ())}
