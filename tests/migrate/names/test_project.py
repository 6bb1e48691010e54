"""Names that come from other files of a project, and those that a file passes on."""

from __future__ import annotations

import pytest

from tests.support.names_in_texts import ADAM, meaning, names_of, uses

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


def test_uses_through_other_files() -> None:
    assert uses("from .opt import Adam, b\nAdam, b", EXPORTS, "p.q") == [
        ("Adam", ADAM, "", "project"),
        ("b", "p.opt.b", "b", "import"),
        ("Adam", ADAM, "", "project"),
        ("b", "p.opt.b", "b", "import"),
    ]
