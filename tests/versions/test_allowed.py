"""The versions that are allowed, and what is said where an older one is found out by failing."""

from __future__ import annotations

import pytest

from flaxoptim_compat.versions import allowed
from flaxoptim_compat.versions.of_python import read_toml
from tests.support.options import each
from tests.support.places import ROOT
from tests.support.processes import output_of

# With an old jax, as far as its metadata goes, and a module without which nothing can be imported.
BROKEN = """
import sys
from importlib import metadata
version = metadata.version
metadata.version = lambda name: "{jax}" if name == "jax" else version(name)
sys.modules["flaxoptim_compat.bridge.step"] = None
try:
    {statement}
except Exception as error:
    print(type(error).__name__, error, "|", type(error.__cause__).__name__)
"""
WAYS = [
    "from flaxoptim_compat import optim",
    "from flaxoptim_compat import Adam",
    "import flaxoptim_compat as optim; optim.Adam(0.1)",
    "from flaxoptim_compat import to_optax",
    "from flaxoptim_compat.optim import Adam",
    "import flaxoptim_compat.optim.adam",
    "import flaxoptim_compat; flaxoptim_compat.install(); from flax import optim; optim.Adam",
]


def test_they_are_those_of_the_project_file() -> None:
    project = read_toml((ROOT / "pyproject.toml").read_text())["project"]
    bounds = dict(each.split(">=") for each in project["dependencies"] if ";" not in each)
    bounds["Python"] = project["requires-python"].removeprefix(">=")
    del bounds["rich"]  # a program that is served does not need it
    assert bounds == allowed.OLDEST


# All ways meet in one place, where the names of the package are looked up.
@pytest.mark.parametrize("statement", each(WAYS, [WAYS[0], WAYS[5], WAYS[6]]))
def test_an_import_that_fails_says_which_version_is_too_old(statement: str) -> None:
    said = output_of(["-c", BROKEN.format(jax="0.4.20", statement=statement)], ROOT)
    assert said.startswith(
        "ImportError flaxoptim_compat needs jax 0.4.30 (here is 0.4.20) or newer."
    )
    assert said.endswith("| ModuleNotFoundError\n")


@pytest.mark.parametrize("statement", each(WAYS[::2], WAYS[6:]))
def test_with_versions_that_will_do_it_fails_as_it_did(statement: str) -> None:
    said = output_of(["-c", BROKEN.format(jax="0.4.30", statement=statement)], ROOT)
    assert said.startswith("ModuleNotFoundError import of flaxoptim_compat.bridge.step halted")


def test_nothing_is_asked_for_where_nothing_fails() -> None:
    code = "import sys; from flaxoptim_compat import optim; optim.Adam; print(*sys.modules)"
    assert allowed.__name__ not in output_of(["-c", code], ROOT).split()
