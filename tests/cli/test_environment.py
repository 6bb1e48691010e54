"""enable, disable and status: serving all programs of an environment."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

import flaxoptim_compat
from flaxoptim_compat import legacy
from flaxoptim_compat.legacy import environment
from tests.support.places import ROOT
from tests.support.processes import output_of, start

PACKAGES = {"jax", "jaxlib", "flax", "optax", "numpy"}
# Each of these takes longer to import than all that the hook does.
HEAVY = {*PACKAGES, "typing", "re", "dataclasses", "contextlib", "inspect"}
OLD_PROGRAM = "import flax, jax; flax.optim.Adam(0.1); jax.tree_multimap(abs, [1])"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of a virtual environment that has what this one has."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    inside = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    # Not the .pth files of this environment, which may be enabled.
    (inside / "packages.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n")
    return str(folder / "bin" / "python")


@pytest.fixture(autouse=True)
def disabled(python: str) -> Iterator[None]:
    yield
    for file in Path(python).parents[1].rglob(environment.FILE_NAME):
        file.unlink()


def compat(python: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return start(["-m", "flaxoptim_compat", *arguments], folder, python=python)


def test_enable_and_disable(python: str, tmp_path: Path) -> None:
    done = compat(python, tmp_path, "enable")
    assert done.returncode == 0, done.stderr
    assert environment.FILE_NAME in done.stdout and "disable deletes it" in done.stdout
    output_of(["-c", OLD_PROGRAM], tmp_path, python=python)
    assert compat(python, tmp_path, "enable").returncode == 0
    done = compat(python, tmp_path, "disable")
    assert (done.returncode, done.stdout[:8]) == (0, "Deleted "), done.stderr
    assert start(["-c", OLD_PROGRAM], tmp_path, python=python).returncode == 1
    done = compat(python, tmp_path, "disable")
    assert done.returncode == 0 and done.stdout.startswith("Nothing to do: ")


def test_only_optim(python: str, tmp_path: Path) -> None:
    assert compat(python, tmp_path, "enable", "--only-optim").returncode == 0
    done = start(["-c", OLD_PROGRAM], tmp_path, python=python)
    assert "has no attribute 'tree_multimap'" in done.stderr
    assert "flax.optim only" in compat(python, tmp_path, "status").stdout


def test_status(python: str, tmp_path: Path) -> None:
    done = compat(python, tmp_path, "status")
    assert done.returncode == 0, done.stdout
    shown = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert shown["served"].startswith("nothing;")
    assert shown["conflicts"] == "none"
    assert Path(shown["environment"].split()[0]) == Path(python).parents[1]
    for name in ("jax", "flax", "optax", "numpy"):
        assert f"{name} {metadata.version(name)}" in shown["versions"]
    assert flaxoptim_compat.__version__ in done.stdout
    compat(python, tmp_path, "enable")
    done = compat(python, tmp_path, "status")
    assert "served       flax.optim, and the other names" in done.stdout
    assert f"{os.sep}{environment.FILE_NAME}" in done.stdout


def test_status_finds_conflicts(python: str, tmp_path: Path) -> None:
    package = tmp_path / "flax" / "optim"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    path = {"PYTHONPATH": str(tmp_path)}
    done = start(["-m", "flaxoptim_compat", "status"], tmp_path, path, python)
    assert done.returncode == 1
    assert f"conflicts    There is a flax.optim at {package / '__init__.py'}, which" in done.stdout
    done = start(["-m", "flaxoptim_compat", "enable"], tmp_path, path, python)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "has a flax.optim of its own" in said and "Nothing was changed." in said
    # A program that gets it later, by its own PYTHONPATH, keeps it.
    assert compat(python, tmp_path / "flax", "enable").returncode == 0
    code = f"from flax import optim; assert optim.__file__.startswith({str(package)!r})"
    output_of(["-c", code], tmp_path, path, python)


def test_what_it_costs_a_program_that_does_not_need_it(python: str, tmp_path: Path) -> None:
    loaded = "import sys; print(sorted(sys.modules))"
    before = set(eval(output_of(["-c", loaded], tmp_path, python=python)))
    compat(python, tmp_path, "enable")
    after = set(eval(output_of(["-c", loaded], tmp_path, python=python)))
    package = {"flaxoptim_compat", "flaxoptim_compat.legacy", "flaxoptim_compat.legacy.hook"}
    assert after - before - {"__future__"} == package
    assert not after & HEAVY
    code = "import sys, json, logging, email; print(sorted(sys.modules))"
    # numpy alone has its old names, without jax.
    code += "; import numpy; numpy.NINF; assert not {'jax', 'flax'} & set(sys.modules)"
    assert not set(eval(output_of(["-c", code], tmp_path, python=python))) & PACKAGES


def test_spawned_processes_are_served(python: str, tmp_path: Path) -> None:
    compat(python, tmp_path, "enable")
    (tmp_path / "program.py").write_text(
        "import multiprocessing\nfrom flax import optim\n\n"
        "def work(rate):\n    return optim.Adam(rate).hyper_params.learning_rate\n\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, [0.5]))\n"
    )
    assert output_of(["program.py"], tmp_path, python=python) == "[0.5]\n"


def test_a_package_that_is_gone_leaves_python_working(python: str, tmp_path: Path) -> None:
    compat(python, tmp_path, "enable")
    file = next(Path(python).parents[1].rglob("packages.pth"))
    text = file.read_text()
    file.write_text("")
    try:
        done = start(["-c", "print(1)"], tmp_path, python=python)
        assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    finally:
        file.write_text(text)


DAMAGED = {
    "cut": "import os\ndef start(",
    "empty": "",
    "failing": "raise RuntimeError('out\\nof lines')",
    "ending": "raise SystemExit(3)",
    "needing": "import no_such_module",
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_where_the_package_is_damaged_python_starts_with_a_line(
    python: str, tmp_path: Path, text: str
) -> None:
    assert compat(python, tmp_path, "enable").returncode == 0
    damaged = tmp_path / "first" / "flaxoptim_compat" / "legacy"
    damaged.mkdir(parents=True)
    for folder in (damaged.parent, damaged):
        (folder / "__init__.py").touch()
    (damaged / "hook.py").write_text(text)
    of_run = Path(legacy.__file__).parent / "startup"
    by_the_file = {"PYTHONPATH": str(tmp_path / "first")}
    by_run = {"PYTHONPATH": os.pathsep.join([str(of_run), str(tmp_path / "first")])}
    for env, interpreter in ((by_the_file, python), (by_run, sys.executable)):
        done = start(["-c", "print(1)"], tmp_path, env, interpreter)
        assert (done.returncode, done.stdout) == (0, "1\n")
        assert done.stderr.startswith("flaxoptim-compat: flax.optim is not served: ")
        assert done.stderr.count("\n") == 1 and "Install flaxoptim_compat anew" in done.stderr
        assert (environment.FILE_NAME in done.stderr) == (env is by_the_file)


@pytest.mark.parametrize("command", ["enable", "disable"])
def test_what_a_kill_left_behind_is_removed(python: str, tmp_path: Path, command: str) -> None:
    file = next(Path(python).parents[1].rglob("packages.pth"))
    left = file.with_name(f"unfinished-{environment.FILE_NAME}-0123abcd")
    other = file.with_name("unfinished-mine.pth-0123abcd")
    left.touch()
    other.touch()
    assert compat(python, tmp_path, command).returncode == 0
    assert not left.exists() and other.exists()
