"""The versions that are allowed, and what is said where an older one is found out."""

from __future__ import annotations

import pytest

from flaxoptim_compat import from_nnx, to_nnx
from flaxoptim_compat.versions import allowed
from flaxoptim_compat.versions.allowed import refuse_old_nnx
from flaxoptim_compat.versions.of_python import read_toml
from tests.support.places import ROOT
from tests.support.processes import output_of

# With each jax, as far as its metadata goes, and a module without which nothing can be imported.
BROKEN = """
import sys
from importlib import metadata
version = metadata.version
sys.modules["flaxoptim_compat.bridge.step"] = None
for jax in sys.argv[1:3]:
    metadata.version = lambda name: jax if name == "jax" else version(name)
    for statement in sys.argv[3:]:
        try:
            exec(statement)
        except Exception as error:
            print(type(error).__name__, error, "|", type(error.__cause__).__name__, end="\\0")
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


def test_an_import_that_fails_says_which_version_is_too_old() -> None:
    done = output_of(["-c", BROKEN, "0.4.20", "0.4.30", *WAYS], ROOT)
    said = done.removesuffix("\0").split("\0")
    assert len(said) == 2 * len(WAYS)
    for each in said[: len(WAYS)]:
        assert each.startswith(
            "ImportError flaxoptim_compat needs jax 0.4.30 (here is 0.4.20) or newer."
        )
        assert each.endswith("| ModuleNotFoundError")
    # With versions that will do, it fails as it did.
    for each in said[len(WAYS) :]:
        assert each.startswith("ModuleNotFoundError import of flaxoptim_compat.bridge.step halted")


@pytest.mark.parametrize("version", ["0.11.0", "0.11", "0.12.8", "1.0"])
def test_a_flax_of_today_passes(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(allowed, "version_of", lambda name: version)
    refuse_old_nnx("to_nnx")


@pytest.mark.parametrize("version", ["0.8.5", "0.10.7"])
def test_an_older_one_is_named_by_all_that_need_more(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(allowed, "version_of", lambda name: version)
    for function in (to_nnx, from_nnx):
        with pytest.raises(ImportError) as caught:
            function(None, None)  # type: ignore[arg-type]
        assert str(caught.value) == (
            f"{function.__name__} needs flax 0.11 or newer (here is {version}), whose nnx.Optimizer"
            " has wrt."
        )
