"""What is printed where not everything can be: names that are no UTF-8, and a disk that is full."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from flax import serialization

from flaxoptim_compat.cli import main
from tests.support.places import ROOT

LOST = "import jax\njax.tree_map(f, x)\n"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other names, and no /dev/full")


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in the folder of the test; what it prints is UTF-8, or an error."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: (main([*arguments]), *capsys.readouterr())


# They clear the screen, ring, and end a line.
HOSTILE = "a\x1b[2J\x07\n::error::b\x9b"
CONTROLS = {"\x1b", "\x07", "\x9b"}


@LINUX
@pytest.mark.parametrize(
    "arguments",
    [
        *(
            ("scan", ".", "--format", form)
            for form in ("text", "concise", "github", "json", "sarif")
        ),
        ("rewrite", ".", "--to", "shim"),
        ("rewrite", ".", "--write", "--to", "shim"),
        ("rewrite", ".", "--write", "--to", "optax"),
    ],
    ids=" ".join,
)
def test_names_of_files_are_no_commands(run: Run, arguments: tuple[str, ...]) -> None:
    Path(f"{HOSTILE}.py").write_text(LOST)
    Path(f"{HOSTILE}_cut.py").write_text("def f(:\n")
    Path("::error::c.py").write_text(LOST)
    _, output, errors = run(*arguments)
    text = output + errors
    assert not CONTROLS.intersection(text)
    if not {"github", "sarif"}.intersection(arguments):  # which quote names in their own way
        assert "error::b" in text
        assert not [line for line in text.splitlines() if line.startswith("::")]


@LINUX
@pytest.mark.parametrize("known", [True, False])
def test_names_in_checkpoints_are_no_commands(run: Run, known: bool) -> None:
    params = {HOSTILE: np.ones(3, np.float32), "::error::c": np.ones(3, np.float32)}
    states = {name: {"momentum": value} if known else {} for name, value in params.items()}
    tree = {"target": params, "state": {"step": np.int32(3), "param_states": states}}
    path = Path(f"{HOSTILE[:-1]}.msgpack")
    path.write_bytes(serialization.msgpack_serialize({HOSTILE: tree}))
    for arguments in (("inspect", path.name), ("convert", path.name, "out", "--to", "train-state")):
        status, output, errors = run("checkpoint", *arguments)
        text = output + errors
        assert status in (0, 2) and "error::b" in text and not CONTROLS.intersection(text)
        assert not [line for line in text.splitlines() if line.strip().startswith("::")]


def test_a_patch_is_exact(run: Run) -> None:
    # Sources of the time have form feeds, and a patch without them would not fit.
    Path("a.py").write_text(f"\f\n{LOST}x = '\x1b'\n")
    _, output, _ = run("rewrite", ".", "--to", "shim")
    assert " \f\n" in output and " x = '\x1b'\n" in output


@LINUX
@pytest.mark.parametrize("form", ["concise", "github", "json", "sarif"])
def test_a_name_that_is_no_utf_8_is_escaped(run: Run, form: str) -> None:
    Path(os.fsdecode(b"a\xff.py")).write_text(LOST)
    status, output, errors = run("scan", ".", "--format", form)
    assert (status, errors) == (1, "")
    assert ("a%FF.py" if form == "sarif" else r"a\udcff.py") in output
    if form in ("json", "sarif"):
        json.loads(output)


@LINUX
def test_a_file_whose_name_is_no_utf_8_is_rewritten(run: Run) -> None:
    odd = Path(os.fsdecode(b"a\xff.py"))
    odd.write_text("from flax import optim\noptimizer = optim.Adam(0.1).create({})\n")
    Path("b.py").write_text("from flax import optim\nimport c\nprint(c.made.target)\n")
    Path("c.py").write_text("from flax import optim\nmade = optim.Adam(0.1).create({})\n")
    assert run("rewrite", ".", "--to", "optax", "--write")[0] == 0
    assert "TrainState.create(" in odd.read_text()


@LINUX
def test_a_full_disk_is_told_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(LOST)
    command = [sys.executable, "-m", "flaxoptim_compat", "rewrite", "a.py"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*command, "--to", "shim", "--write"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    line = b"flaxoptim-compat: The output cannot be written: No space left on device.\n"
    assert (done.returncode, done.stderr.splitlines(keepends=True)[-1]) == (2, line)
    # What was asked for is done.
    assert "jax.tree.map(" in (tmp_path / "a.py").read_text()
