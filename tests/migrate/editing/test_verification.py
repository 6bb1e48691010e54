"""Files are put back when a command of the user's fails."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.editing import writing
from flaxoptim_compat.migrate.editing.writing import (
    NotWritten,
    Replacement,
    VerificationError,
    write_verified,
)
from tests.support.changed_files import NEW, OLD, changes, content


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_command_that_succeeds(program: Path) -> None:
    said: list[str] = []
    outcome = write_verified(changes(program, "a.py", "b/c.py"), "pwd > out", said.append)
    assert sorted(path.name for path in outcome.written) == ["a.py", "c.py"]
    found = content(program)
    assert found.pop("out").decode().strip() == str(program)
    assert found == {"a.py": NEW, "b/c.py": NEW}
    assert said[0] == "Before: pwd > out" and said[-1] == "After: pwd > out"


def test_a_command_that_fails_before(program: Path) -> None:
    those = changes(program, "a.py")
    with pytest.raises(VerificationError, match=r"fails before .* No file was changed\.") as caught:
        write_verified(those, "echo on stdout; echo on stderr >&2; exit 3", lambda _: None)
    assert caught.value.output == "on stdout\non stderr\n"
    assert "exit status 3" in str(caught.value)
    assert content(program) == {"a.py": OLD}


def test_a_command_that_fails_after(program: Path) -> None:
    those = changes(program, "a.py", "b/c.py")
    those[1].path.chmod(0o750)
    before = [each.path.stat() for each in those]
    with pytest.raises(VerificationError, match="All files are as they were before"):
        write_verified(those, "! grep -n tree.map b/c.py | grep -v tree_map", lambda _: None)
    assert content(program) == {"a.py": OLD, "b/c.py": OLD}
    for change, status in zip(those, before, strict=True):
        now = change.path.stat()
        assert (now.st_mode, now.st_mtime_ns) == (status.st_mode, status.st_mtime_ns)


def test_a_file_that_the_command_changes_is_not_overwritten(program: Path) -> None:
    command = "grep -q tree_map b.py || { echo edited > a.py; false; }"
    with pytest.raises(VerificationError, match="not these") as caught:
        write_verified(changes(program, "a.py", "b.py"), command, lambda _: None)
    found = content(program)
    assert (found["a.py"], found["b.py"]) == (b"edited\n", OLD)
    assert found[f"{writing.NAME}/files/a.py"] == OLD
    assert writing.NAME in str(caught.value) and "a.py (it has changed" in str(caught.value)


def test_if_one_file_cannot_be_written_none_is(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    those = changes(program, "a.py", "b.py")
    genuine = writing.replace

    def refusing(change: Replacement, *arguments: int | None) -> None:
        if change.path == those[1].path:
            raise NotWritten("no")
        genuine(change, *arguments)

    monkeypatch.setattr(writing, "replace", refusing)
    outcome = write_verified(those, "true", lambda _: None)
    assert outcome == ([], [(those[1].path, "no")])
    assert content(program) == {"a.py": OLD, "b.py": OLD}


def test_stopping_the_command_puts_the_files_back(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []

    def stopped(command: str) -> tuple[int, str]:
        runs.append(command)
        if len(runs) == 2:
            assert content(program)["a.py"] == NEW
            raise KeyboardInterrupt
        return 0, ""

    monkeypatch.setattr(writing, "_run", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_verified(changes(program, "a.py"), "true", lambda _: None)
    assert content(program) == {"a.py": OLD}


def test_without_a_journal_nothing_is_written(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copystat", full)
    with pytest.raises(writing.JournalError, match="cannot be written: No space left"):
        write_verified(changes(program, "a.py"), "true", lambda _: None)
    assert content(program) == {"a.py": OLD}
