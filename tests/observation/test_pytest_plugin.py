from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from flaxoptim_compat.observation.pytest_plugin import _safe
from tests.support.places import ROOT
from tests.support.processes import start
from tests.support.written_programs import forget_programs

STRICT = ("-W", "error", "--strict-markers", "--strict-config", "-p", "no:cacheprovider")
QUIET = ("-W", "ignore::flaxoptim_compat.FlaxOptimDeprecationWarning")

TESTS = """\
import os
import numpy as np
import optax
import pytest
from flaxoptim_compat import optim

PARAMS = {"w": np.ones(3, np.float32)}
RATE = float(os.environ.get("RATE", 0.1))

def test_same(assert_same_trajectory):
    report = assert_same_trajectory(optax.sgd(0.1), optax.sgd(RATE), PARAMS, steps=3)
    assert report.identical

@pytest.mark.parametrize("rate", [0.2, RATE], ids=["a/b", "a_b"])
def test_kept(parity_baseline, rate):
    parity_baseline(optax.sgd(rate), PARAMS, steps=3)

class TestInClass:
    @pytest.mark.parity_baseline("shared/sgd.npz")
    def test_old(self, parity_baseline):
        parity_baseline(optim.Momentum(0.1), PARAMS, steps=3)
        parity_baseline(optim.Momentum(0.2), PARAMS, steps=3, name="twice as fast")
"""


def run_pytest(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """As a user runs it; of the plugins, only those that are named."""
    environment = {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
        "PYTHONPATH": str(ROOT),
        "FLAXOPTIM_COMPAT_COMPILED": "1",
        **env,
    }
    return start(["-m", "pytest", *arguments], folder, environment)


PLUGIN = ("-p", "flaxoptim_compat.observation.pytest_plugin")


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(
    folder_of_its_own: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs pytest in this process, which has imported jax; gives the status and the output."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "")

    def run(*arguments: str) -> tuple[int, str]:
        forget_programs(Path.cwd())
        # The usual mode would leave the folders of the tests in sys.path.
        status = pytest.main([*PLUGIN, *STRICT, *QUIET, "--import-mode=importlib", *arguments])
        return status, capsys.readouterr().out

    return run


def test_baselines_are_kept_beside_the_tests(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "test_kept.py").write_text(TESTS)
    status, output = run("-rN", "inner", "-m", "parity_baseline")
    assert status == 1
    kept = folder / "parity_baselines" / "test_kept"
    missing = [kept / "test_kept-a_b-c14cddc0.npz", kept / "test_kept-a_b.npz"]
    missing.append(folder / "shared" / "sgd.npz")
    for path in missing:
        assert f"There is no baseline {path} yet. Record it with\n" in output
    assert "pytest --parity-record 'inner/test_kept.py::test_kept[a/b]'" in output
    assert "3 failed, 1 deselected" in output
    assert [entry.name for entry in folder.rglob("*.npz")] == []

    xdist = ("-p", "xdist.plugin", "-n", "1")
    everything = (*PLUGIN, *STRICT, *QUIET, "-rN", "inner")
    done = run_pytest(tmp_path, *everything, *xdist, "--parity-record")
    assert done.returncode == 0, done.stdout + done.stderr
    found = {
        path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in str(path)
    }
    second = folder / "shared" / "sgd-twice_as_fast-7f67247d.npz"
    assert found == {folder / "test_kept.py", *missing, second}
    assert sorted(re.findall("wrote (.*)", done.stdout)) == sorted(map(str, [*missing, second]))

    times = {path: path.stat().st_mtime_ns for path in found}
    monkeypatch.setenv("RATE", "0.11")
    monkeypatch.chdir(folder)
    _, output = run("-rN")
    assert "2 failed, 2 passed" in output and "wrote" not in output
    assert "E       AssertionError: The two runs PART at step 1 of 3, in w." in output
    for said in (
        "first  the baseline",
        "To take this run as the new baseline:",
        "pytest --parity-record 'test_kept.py::test_kept[a_b]'",
    ):
        assert " ".join(said.split()) in " ".join(output.replace("\nE ", " ").split())
    # The frames of this package are of no interest.
    assert not re.search(r"^\S*flaxoptim_compat\S*:\d+", output, re.MULTILINE)
    assert times == {path: path.stat().st_mtime_ns for path in found}


SHARED = """\
import optax
import pytest
from flaxoptim_compat import optim

@pytest.mark.parity_baseline("shared")
@pytest.mark.parametrize("side", [optim.Momentum(0.1), optax.sgd(0.1, 0.9), optax.sgd(0.1)])
def test_shared(parity_baseline, side):
    parity_baseline(side, {"w": 1.0}, steps=3)

def test_twice(parity_baseline):
    parity_baseline(optax.sgd(0.1), {"w": 1.0}, steps=3)
    parity_baseline(optax.sgd(0.1), {"w": 1.0}, steps=3)
"""


def test_the_first_of_several_tests_records_a_shared_baseline(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test_shared.py").write_text(SHARED)
    _, output = run("--parity-record", "-rf")
    assert "2 failed, 2 passed" in output
    assert "FAILED test_shared.py::test_shared[side2] - AssertionError: The two runs PART" in (
        output
    )
    assert "a test with several baselines has to give each a name" in output.lower()
    found = {path.name for path in (tmp_path / "parity_baselines" / "test_shared").iterdir()}
    assert found == {"shared.npz", "test_twice.npz"}


def test_who_does_not_use_it_has_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n\ndef test():\n"
        "    assert 'flaxoptim_compat.observation.pytest_plugin' in sys.modules\n"
        "    assert not {'jax', 'flax', 'numpy', 'optax'} & set(sys.modules)\n"
    )
    done = run_pytest(tmp_path, *PLUGIN, *STRICT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_installed_package_offers_it(tmp_path: Path) -> None:
    found = {entry.name: entry.value for entry in metadata.entry_points(group="pytest11")}
    assert found["flaxoptim_compat"] == "flaxoptim_compat.observation.pytest_plugin"
    (tmp_path / "test_other.py").write_text(
        "def test(request):\n"
        "    assert request.config.pluginmanager.has_plugin('flaxoptim_compat') is OFFERED\n"
    )
    for offered, options in ((True, ()), (False, ("-p", "no:flaxoptim_compat"))):
        text = (tmp_path / "test_other.py").read_text()
        (tmp_path / "test_other.py").write_text(re.sub("OFFERED|True|False", str(offered), text))
        done = run_pytest(tmp_path, *STRICT, *options, PYTEST_DISABLE_PLUGIN_AUTOLOAD="")
        assert done.returncode == 0, done.stdout + done.stderr


def test_pytest_starts_where_the_package_is_loaded_already(tmp_path: Path) -> None:
    # What a wheel leaves behind, by which pytest knows whose assertions it may rewrite.
    info = tmp_path / "site" / "flaxoptim_compat-99.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: flaxoptim_compat\nVersion: 99\n")
    (info / "RECORD").write_text("flaxoptim_compat/__init__.py,,\n")
    plugin = "flaxoptim_compat = flaxoptim_compat.observation.pytest_plugin"
    (info / "entry_points.txt").write_text(f"[pytest11]\n{plugin}\n")
    (tmp_path / "test_other.py").write_text("def test():\n    pass\n")
    program = (
        "import sys, flaxoptim_compat, pytest\n"
        f"sys.exit(pytest.main({[*STRICT]!r} + ['test_other.py']))"
    )
    environment = {"PYTHONPATH": f"{info.parent}:{ROOT}", "PYTEST_ADDOPTS": ""}
    done = start(["-c", program], tmp_path, environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_names_that_are_safe_stay_and_others_stay_apart() -> None:
    safe = ["x", "0.1-True", "a,b", "a=1+2"]
    assert [_safe(text) for text in safe] == safe
    texts = ["a/b", "a b", "a\\b", "ä", "ö", "a" * 200, "a" * 201, "../x", ":", "*", "con<>"]
    found = [_safe(text) for text in texts]
    assert len(set(found)) == len(texts)
    assert all(re.fullmatch(r"[\w.,=+-]{1,120}", each, re.ASCII) for each in found)
