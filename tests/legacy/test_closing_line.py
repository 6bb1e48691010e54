"""The line at the end of ``run``: which names were used, and what to scan to see where."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from flaxoptim_compat.legacy import usage
from tests.support.processes import compat
from tests.support.written_programs import write


def test_a_program_without_legacy_names(tmp_path: Path) -> None:
    write(tmp_path, program="import flax")
    done = compat(["run", "program.py"], tmp_path)
    assert "no legacy names were used; plain python runs this program too." in done.stderr


@pytest.mark.parametrize("statement", ["from flax import optim", "import flax.optim"])
def test_a_module_that_is_imported_and_not_used(tmp_path: Path, statement: str) -> None:
    write(tmp_path, program=statement)
    done = compat(["run", "program.py"], tmp_path)
    assert done.stderr.endswith(
        "used flax.optim (1x). To see where: flaxoptim-compat scan program.py\n"
    )


def test_names_that_an_imported_file_used(tmp_path: Path) -> None:
    write(
        tmp_path,
        program="import os, inner\nos.chdir('/')",
        inner="from flax import optim\noptim.Adam",
    )
    done = compat(["run", "program.py"], tmp_path)
    assert done.stderr.endswith(
        "used flax.optim.Adam (1x). To see where: flaxoptim-compat scan .\n"
    )


def test_a_program_that_failed_before_it_used_any(tmp_path: Path) -> None:
    write(tmp_path, train="import missing_module")
    done = compat(["run", "train.py"], tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("flaxoptim-compat: no legacy names were used before the error.\n")


@pytest.mark.parametrize(
    ("program", "used", "expected"),
    [
        ("main.py", [], "main.py"),
        ("main.py", ["package/inner.py"], "."),
        ("a b/main.py", ["a b/inner.py"], "'a b'"),
        ("main/main.py", ["library/one.py", "library/two.py"], "main {}/library"),
        (".", ["package/inner.py"], "."),
    ],
)
def test_what_to_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, used: list[str], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in used:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(usage, "counts", Counter({"flax.optim.Adam": 1}))
    files = {*(str(tmp_path / name) for name in used), "<string>"}
    monkeypatch.setattr(usage, "imported_files", files)
    expected = expected.format(tmp_path)
    assert usage.closing_line(program, 3, str((tmp_path / program).parent)) == (
        "flaxoptim-compat: used flax.optim.Adam (1x)."
        f" To see where: flaxoptim-compat scan {expected}"
    )
