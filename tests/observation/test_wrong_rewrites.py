"""A wrong rewrite is caught: its numbers part, and there is no proof."""

from __future__ import annotations

import contextlib
import re
import runpy
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import flaxoptim_compat
from flaxoptim_compat.migrate.editing.replacing_files import Replacement
from flaxoptim_compat.observation import records
from flaxoptim_compat.observation.copies import Copies
from flaxoptim_compat.observation.observed_command import ObservedRun
from flaxoptim_compat.observation.places import Uses
from flaxoptim_compat.observation.proof import NotProven, Proof, Terms
from tests.observation.wrong_rewrites import PROGRAMS, PROGRAMS_WITH_RESULTS, Program
from tests.support.observed import recording


class InProcess:
    """Runs files of Python; of one with the same text it knows what it does, prints and writes."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[ObservedRun, dict[str, bytes]]] = {}
        self._folder = tempfile.TemporaryDirectory()

    def __call__(self, command: str, copies: Copies, *_: object, **__: object) -> ObservedRun:
        """Run a file of the copy, whose name is the command."""
        text = (copies.copy / command).read_bytes()
        if text not in self._known:
            output = Path(self._folder.name, f"output.{len(self._known)}")
            run = _run(copies.copy / command, output)
            self._known[text] = run, _contents(copies.copy)
        run, files = self._known[text]
        for name, content in files.items():
            (copies.copy / name).write_bytes(content)
        return run


def _contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.name != "train.py"}


def _run(file: Path, output: Path) -> ObservedRun:
    failed = False
    with tempfile.TemporaryDirectory() as folder, output.open("w") as printed:
        with (
            contextlib.redirect_stdout(printed),
            flaxoptim_compat.installed(era=True),
            recording(Path(folder)),
        ):
            try:
                runpy.run_path(str(file), run_name="__main__")
            except Exception:
                failed = True
                printed.write(traceback.format_exc())
        return ObservedRun(int(failed), output, records.read(Path(folder)), Uses(), [])


RUN = InProcess()


ALL = {**PROGRAMS, **PROGRAMS_WITH_RESULTS}


def cases(field: str, programs: Mapping[str, Program] = PROGRAMS) -> list[Any]:
    """The cases of all programs: the first one of a kind in a program is for each run of tests."""
    found, seen = [], set()
    for name, program in programs.items():
        for what, text, by in getattr(program, field):
            kind = what.partition(", ")[0]
            marks = [pytest.mark.exhaustive] * (kind in seen)
            found.append(pytest.param(name, text, by, id=f"{name}: {what}", marks=marks))
            seen.add(kind)
    return found


def proven(folder: Path, old: str, new: str, is_written: bool = False) -> list[str]:
    """What a proof says of a program and its rewrite, which ``verify`` finds written already."""
    path = folder / "train.py"
    path.write_text(new if is_written else old)
    change = Replacement(path, old.encode(), new.encode())
    with Copies(folder) as copies:
        proof = Proof(["train.py"], copies, Path(), Terms(), lambda _: None, RUN)
        proof.run_old({Path("train.py"): change.old} if is_written else {})
        proof.run_new({} if is_written else {Path("train.py"): change.new})
        said = proof.judged([change], None)
    assert path.read_text() == (new if is_written else old)
    return said


def test_there_are_many_kinds() -> None:
    wrong = [what for program in PROGRAMS.values() for what, *_ in program.wrong]
    assert len(wrong) >= 120 and len({what.partition(", ")[0] for what in wrong}) >= 12


@pytest.mark.parametrize("name", ALL)
def test_a_right_rewrite_is_proven(tmp_path: Path, name: str) -> None:
    program = ALL[name]
    said = proven(tmp_path, program.old, program.new)
    assert "optimizer" in said[0] and "nothing" not in said[0], said
    # No optimizer was left out of the probes.
    assert "compared in this run only" not in " ".join(said)


@pytest.mark.parametrize(("name", "text", "by"), cases("wrong"))
def test_a_wrong_rewrite_is_caught(tmp_path: Path, name: str, text: str, by: str) -> None:
    program = ALL[name]
    assert text in program.new
    for is_written in (False, True):
        with pytest.raises(NotProven, match="The numbers differ") as caught:
            proven(tmp_path, program.old, program.new.replace(text, by), is_written)
        assert caught.value.differs and not caught.value.output
        assert "train.py:" in str(caught.value)


@pytest.mark.parametrize(("name", "text", "by"), cases("told"))
def test_what_is_not_compared_is_said(tmp_path: Path, name: str, text: str, by: str) -> None:
    program = PROGRAMS[name]
    assert text in program.new
    said = " ".join(proven(tmp_path, program.old, program.new.replace(text, by)))
    assert "only traced: its states were not compared" in said


@pytest.mark.parametrize(("name", "text", "by"), cases("wrong", PROGRAMS_WITH_RESULTS))
def test_a_wrong_use_is_caught_by_what_is_printed_or_written(
    tmp_path: Path, name: str, text: str, by: str
) -> None:
    program = ALL[name]
    assert text in program.new
    with pytest.raises(NotProven, match="The optimizers agree, but") as caught:
        proven(tmp_path, program.old, program.new.replace(text, by))
    assert caught.value.differs and "--accept-output" in str(caught.value)


@pytest.mark.parametrize(("name", "text", "by"), cases("harmless"))
def test_what_is_looked_at_more_often_is_no_other_trajectory(
    tmp_path: Path, name: str, text: str, by: str
) -> None:
    program = ALL[name]
    assert text in program.new
    said = proven(tmp_path, program.old, program.new.replace(text, by))
    pattern = r"(1 optimizer, 6 of 6|6 optimizers, 19 of 19) steps: the same "
    assert re.match(pattern, said[0]), said
