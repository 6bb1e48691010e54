"""What is printed where not everything can be: names that are no UTF-8, and a disk that is full."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

LOST = "import jax\njax.tree_map(f, x)\n"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other names, and no /dev/full")


def compat(folder: Path, *arguments: str, output: int = subprocess.PIPE) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "flaxoptim_compat", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout or "", done.stderr


@LINUX
@pytest.mark.parametrize("form", ["concise", "github", "json", "sarif"])
def test_a_name_that_is_no_utf_8_is_escaped(tmp_path: Path, form: str) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.py")).write_text(LOST)
    status, output, errors = compat(tmp_path, "scan", ".", "--format", form)
    assert (status, errors) == (1, "")
    assert ("a%FF.py" if form == "sarif" else r"a\udcff.py") in output
    if form in ("json", "sarif"):
        json.loads(output)


@LINUX
def test_a_file_whose_name_is_no_utf_8_is_rewritten(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.py"))
    odd.write_text("from flax import optim\noptimizer = optim.Adam(0.1).create({})\n")
    (tmp_path / "b.py").write_text("from flax import optim\nimport c\nprint(c.made.target)\n")
    (tmp_path / "c.py").write_text("from flax import optim\nmade = optim.Adam(0.1).create({})\n")
    assert compat(tmp_path, "rewrite", ".", "--to", "optax", "--write")[::2] == (1, "")
    assert "TrainState.create(" in odd.read_text()


@LINUX
def test_a_full_disk_is_told_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(LOST)
    with open("/dev/full", "w") as full:
        done = compat(tmp_path, "rewrite", "a.py", "--to", "shim", "--write", output=full.fileno())
    line = "flaxoptim-compat: The output cannot be written: No space left on device.\n"
    assert done == (2, "", line)
    # What was asked for is done.
    assert "jax.tree.map(" in (tmp_path / "a.py").read_text()
