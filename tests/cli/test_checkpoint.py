"""``flaxoptim-compat checkpoint inspect`` as a process: errors, pipes, and what it imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from flax import serialization

from flaxoptim_compat import optim
from flaxoptim_compat.checkpoint_files import StoredArray
from flaxoptim_compat.cli import main
from tests.support.cases import case
from tests.support.checkpoint_conversions import written
from tests.support.places import ROOT
from tests.support.processes import start
from tests.support.training import create


def test_what_cannot_be_read_is_an_error_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = serialization.to_bytes(create(case("Adam-default"), optim))
    (tmp_path / "notes.txt").write_text("no checkpoint\n")
    (tmp_path / "cut").write_bytes(content[: len(content) // 2])
    for path in (tmp_path / "notes.txt", tmp_path / "cut", tmp_path / "missing", tmp_path):
        assert main(["checkpoint", "inspect", str(path)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        # Where the path is long, a line ends before it.
        assert err.split(maxsplit=1)[0] == "flaxoptim-compat:" and str(path) in err


def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    path = written(tmp_path / "many", {f"{number:02000}": np.zeros(1) for number in range(100)})
    process = subprocess.Popen(
        [sys.executable, "-m", "flaxoptim_compat", "checkpoint", "inspect", str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 0)
    process.stderr.close()


def test_it_does_not_import_jax(tmp_path: Path) -> None:
    path = written(tmp_path / "adam", create(case("Adam-default"), optim))
    program = (
        "import sys; from flaxoptim_compat.cli import main;"
        f"assert main(['checkpoint', 'inspect', {str(path)!r}]) == 0;"
        "print(sorted({'jax', 'flax', 'optax', 'orbax'} & set(sys.modules)))"
    )
    done = start(["-c", program], tmp_path, {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "COMMAND"),
        (
            ["convert", "old", "new", "--to", "nnx", "--paths", "Dense_0"],
            "'Dense_0' is not OLD=NEW, such as Dense_0=hidden",
        ),
    ],
)
def test_words_that_mean_nothing(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["checkpoint", *words])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "problem"),
    [(MemoryError, "does not fit into memory"), (RecursionError, "is nested too deeply")],
)
def test_too_large_a_checkpoint_is_one_line(
    error: type[Exception],
    problem: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = written(tmp_path / "momentum", create(case("Momentum-default"), optim))

    def too_much(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(StoredArray, "read", too_much)
    before = sorted(tmp_path.rglob("*"))
    for words in (
        ["inspect", str(path)],
        ["convert", str(path), f"{path}.new", "--to", "nnx", "--optimizer", "Momentum"],
    ):
        assert main(["checkpoint", *words]) == 2
        assert f"{path} {problem}" in " ".join(capsys.readouterr().err.split())
    assert sorted(tmp_path.rglob("*")) == before
