"""A wrong rewrite is caught: its numbers part, and the files are put back."""

from __future__ import annotations

import contextlib
import re
import runpy
import tempfile
import traceback
from pathlib import Path
from typing import Any

import pytest

import flaxoptim_compat
from flaxoptim_compat.migrate.editing.one_change import VerificationError
from flaxoptim_compat.migrate.editing.replacing_files import Replacement
from flaxoptim_compat.observation import records
from flaxoptim_compat.observation.observed_command import ObservedRun
from flaxoptim_compat.observation.proof import Proof
from tests.observation.wrong_rewrites import PROGRAMS
from tests.support.changed_files import written
from tests.support.observed import recording


class InProcess:
    """Runs files of Python; of one with the same text it knows what it does."""

    def __init__(self) -> None:
        self._known: dict[bytes, ObservedRun] = {}

    def __call__(self, command: str) -> ObservedRun:
        """Run a file, whose name is the command."""
        text = Path(command).read_bytes()
        if text not in self._known:
            self._known[text] = _run(command)
        return self._known[text]


def _run(file: str) -> ObservedRun:
    with tempfile.TemporaryDirectory() as folder:
        output = ""
        with flaxoptim_compat.installed(era=True), recording(Path(folder)):
            try:
                runpy.run_path(file, run_name="__main__")
            except Exception:
                output = traceback.format_exc()
        return ObservedRun(int(bool(output)), output, records.read(Path(folder)))


RUN = InProcess()


def cases(field: str) -> list[Any]:
    return [
        pytest.param(name, text, by, id=f"{name}: {what}")
        for name, program in PROGRAMS.items()
        for what, text, by in getattr(program, field)
    ]


def proof(folder: Path, old: str, new: str) -> tuple[list[Replacement], Proof]:
    path = folder / "train.py"
    path.write_text(old)
    changes = [Replacement(path, old.encode(), new.encode())]
    judge = Proof([str(path)], lambda _: contextlib.nullcontext(), RUN)
    assert judge.before() is None
    judge.changes = changes
    return changes, judge


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_right_rewrite_stays(tmp_path: Path, name: str) -> None:
    program = PROGRAMS[name]
    changes, judge = proof(tmp_path, program.old, program.new)
    assert len(written(changes, tmp_path, judge).written) == 1
    assert changes[0].path.read_text() == program.new
    (said,) = judge.account()
    assert "optimizer" in said and "nothing" not in said, said


@pytest.mark.parametrize(("name", "text", "by"), cases("wrong"))
def test_a_wrong_rewrite_is_caught(tmp_path: Path, name: str, text: str, by: str) -> None:
    program = PROGRAMS[name]
    assert text in program.new
    changes, judge = proof(tmp_path, program.old, program.new.replace(text, by))
    with pytest.raises(VerificationError, match="The numbers differ after") as caught:
        written(changes, tmp_path, judge)
    assert not caught.value.output
    assert changes[0].path.read_text() == program.old
    assert "train.py:" in str(caught.value)


@pytest.mark.parametrize(("name", "text", "by"), cases("harmless"))
def test_what_is_looked_at_more_often_is_no_other_trajectory(
    tmp_path: Path, name: str, text: str, by: str
) -> None:
    program = PROGRAMS[name]
    assert text in program.new
    changes, judge = proof(tmp_path, program.old, program.new.replace(text, by))
    written(changes, tmp_path, judge)
    (said,) = judge.account()
    assert re.match(r"(1 optimizer, 6|6 optimizers, 19) steps: the same ", said), said
