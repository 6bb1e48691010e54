"""What the README and the guides say runs, and the project files agree with each other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flaxoptim_compat.versions.of_python import read_toml
from tests.support.nnx_models import needs_nnx
from tests.support.options import exhaustive
from tests.support.oracle.cache import run_checked
from tests.support.pages import PAGES, README, blocks
from tests.support.places import GUIDE, ROOT
from tests.support.processes import compat

# What takes seconds to compare is for an exhaustive run.
MARKS = {GUIDE / "parity.md": exhaustive, GUIDE / "nnx.md": needs_nnx}
EXAMPLES = [
    pytest.param(
        code,
        id=f"{page.relative_to(ROOT)}-{number}",
        marks=MARKS.get(page, ()),
    )
    for page in PAGES
    for number, code in enumerate(blocks(page.read_text(), "python"), start=1)
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_examples_run(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "<example>", "exec"), {"__name__": "example"})


def test_the_warning_is_what_the_guide_shows(tmp_path: Path) -> None:
    page = (GUIDE / "old_programs.md").read_text()
    (shown,) = (line for line in page.splitlines() if "FlaxOptimDeprecationWarning: " in line)
    program = ["from flax import optim", *[""] * 5, "optim.RMSProp(learning_rate=0.01, beta2=0.9)"]
    (tmp_path / "train.py").write_text("\n".join(program))
    done = compat(["run", "train.py"], tmp_path)
    assert done.stderr.replace(f"{tmp_path}/", "").splitlines()[0] == shown


@exhaustive
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a repository can be cloned")
def test_the_first_commands_run_in_a_fresh_clone(tmp_path: Path) -> None:
    clone, environment = tmp_path / "clone", tmp_path / "environment"
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    # As a user has it, who chooses no way of compiling.
    env = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    env["PATH"] = os.pathsep.join([str(programs), env["PATH"]])
    run_checked(["git", "clone", "--quiet", str(ROOT), str(clone)], env)
    run_checked([sys.executable, "-m", "venv", str(environment)], env)
    for command in blocks((clone / "README.md").read_text(), "sh")[0].splitlines():
        done = subprocess.run(
            command, cwd=clone, env=env, shell=True, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert "equal, bit for bit" in done.stdout


def test_ci_runs_the_test_command_of_the_readme() -> None:
    (command,) = [line for line in "".join(blocks(README, "sh")).splitlines() if "pytest" in line]
    ci = (ROOT / ".ci" / "run").read_text()
    assert command in map(str.strip, ci.splitlines())


def test_ci_runs_the_oldest_versions_that_are_allowed() -> None:
    project = read_toml((ROOT / "pyproject.toml").read_text())["project"]
    pins = (ROOT / ".ci" / "oldest.txt").read_text().splitlines()
    allowed = [bound.partition(";")[0].replace(">=", "==") for bound in project["dependencies"]]
    assert set(allowed) <= set(pins)
    for name in ("jax", "flax", "optax", "numpy"):
        (bound,) = (each for each in allowed if each.startswith(f"{name}=="))
        version = bound.partition("==")[2].removesuffix(".0")
        assert f"{name} {version}" in README.replace("\n", " ")
