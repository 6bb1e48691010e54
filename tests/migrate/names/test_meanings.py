"""Names that come from other files of a project, and those that a file passes on."""

from __future__ import annotations

import pytest

from flaxoptim_compat.migrate.names.meanings import exporters
from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.names.surface import as_of_old, is_of_flax_optim
from tests.migrate.names.names_in_texts import (
    ADAM,
    document_of,
    exporter_of,
    meaning,
    names_of,
    passed_on,
)

EXPORTS = {
    "p.opt": {"Adam": ADAM, "o": "flax.optim", "_hidden": ADAM},
    "p": {"A": "p.opt.Adam"},
    "circle": {"a": "circle.a"},
    "src.lib": {"Adam": ADAM},
}

# {(module, text): the full name}
OTHER_FILES = {
    ("p.q", "from .opt import Adam as A\nA"): ADAM,
    ("p.q", "from . import opt\nopt.o.Adam"): ADAM,
    ("p.q.r", "from ..opt import Adam\nAdam"): ADAM,
    ("p.q", "from p import A\nA"): ADAM,
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


@pytest.mark.parametrize("module", ["flax", "flax.optim", "src.flax", "p.flax.optim"])
def test_a_copy_of_flax_in_the_project_is_not_flax(module: str) -> None:
    for text in (
        "import flax\nflax.optim.Adam",
        "from flax import optim\noptim.Adam",
        "from flax.optim import *\nAdam",
        "import flax.optim as o\no.Adam",
    ):
        names = names_of(text, {module: {}}, "p.q")
        assert [use.name for use in names.uses if "flax" in use.name] == []
        assert meaning(text, {module: {}}, module="p.q") is None
    names = names_of("from . import optim\nfrom .optim.adam import Adam\n", {"flax": {}}, "flax.x")
    assert names.uses == []
    assert meaning("from flax import optim\noptim.Adam", {"other.flax": {}}, module="p.q") == ADAM


def test_a_package_called_like_a_library_is_not_the_library() -> None:
    program = {"p.jax.flax": {}, "p.jax": {}}
    text = "import flax\nfrom flax import optim\nimport jax\n"
    for name, full in {"optim.Adam": ADAM, "flax.optim.Adam": ADAM, "jax.jit": "jax.jit"}.items():
        assert meaning(f"{text}{name}", program, module="p.jax.train") == full
    text = "from p.jax import flax\nflax"
    assert meaning(text, program, module="p.jax.train") == "p.jax.flax"


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
    assert passed_on(text) == {
        "jax": "jax",
        "o": "flax.optim",
        "Adam": ADAM,
        "M": "flax.optim.Momentum",
    }


def test_what_a_file_passes_on_by_a_star() -> None:
    exported = passed_on("from flax.optim import *\ndef Adam(): ...\n")
    assert exported["LAMB"] == "flax.optim.LAMB"
    assert "Adam" not in exported
    assert passed_on("from .opt import *", EXPORTS, "p.q") == {
        "Adam": ADAM,
        "o": "flax.optim",
    }


STAR = {
    "a": "from flax.optim import Adam\nfrom b import *\n",
    "b": "from a import *\n",
    "c": "from b import Adam\nAdam\n",
}


def test_what_a_file_passes_on_is_worked_out_through_others() -> None:
    documents = [document_of(text, module) for module, text in STAR.items()]
    read = exporters(documents)
    assert dict(read[documents[1]]) == {"Adam": ADAM}
    names = Names(documents[2], read[documents[2]])
    assert [use.name for use in names.uses] == [ADAM, ADAM]


def test_one_of_two_homes_may_be_another_file() -> None:
    both = "try:\n  from old import Adam\nexcept ImportError:\n  from flax.optim import Adam\n"
    texts = {"old": "from flax.optim import Adam\n", "both": both}
    documents = [document_of(text, module) for module, text in texts.items()]
    assert dict(exporters(documents)[documents[1]]) == {"Adam": ADAM}


@pytest.mark.parametrize(
    "text",
    [
        "import flax as f\nf.optim.Adam",
        "import flax\nhasattr(flax, 'optim')",
        "import importlib\nimportlib.import_module('flax.' + 'optim')",
        "import flax\ndef f(x: 'flax.optim.Optimizer'): ...",
        "import importlib\nimportlib.import_module(f'flax.optim.{name}')",
        "import torch\nfrom torch import optim\noptim.Adam, hasattr(torch, 'optim')",
    ],
)
def test_whether_a_file_names_flax_optim(text: str) -> None:
    names = names_of(text)
    expected = bool(names.lookups) or any(
        is_of_flax_optim(as_of_old(use.name)) for use in names.uses
    )
    assert exporter_of(names.document, {}).names_flax_optim() == expected
    assert expected == ("torch" not in text and "'flax.' +" not in text)
