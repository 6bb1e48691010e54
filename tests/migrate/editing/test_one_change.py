"""A file is replaced whole or not at all, and so are all files of a run."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.editing import replacing_files
from flaxoptim_compat.migrate.editing.one_change import Outcome, VerificationError
from flaxoptim_compat.migrate.editing.replacing_files import NotWritten, Replacement, replace
from flaxoptim_compat.observation.proof import Proof
from tests.support.changed_files import NEW, OLD, changes, content, written


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verified(
    those: list[Replacement], command: str, say: Callable[[str], None] = lambda _: None
) -> Outcome:
    judge = Proof([command], lambda text: contextlib.nullcontext(say(text)))
    verdict = judge.before()
    if verdict is not None:
        raise VerificationError(verdict.message, verdict.output, False)
    judge.changes = those
    return written(those, Path(), judge, say)


def test_a_command_that_fails_after(program: Path) -> None:
    those = changes(program, "a.py", "b/c.py")
    those[1].path.chmod(0o750)
    before = [each.path.stat() for each in those]
    said: list[str] = []
    command = "! grep -n tree.map b/c.py | grep -v tree_map"
    with pytest.raises(VerificationError, match="All files are as they were before"):
        verified(those, command, said.append)
    assert said[0] == f"Before: {command}" and f"After: {command}" in said
    assert content(program) == {"a.py": OLD, "b/c.py": OLD}
    for change, status in zip(those, before, strict=True):
        now = change.path.stat()
        assert (now.st_mode, now.st_mtime_ns) == (status.st_mode, status.st_mtime_ns)


def test_a_file_that_the_command_changes_is_not_overwritten(program: Path) -> None:
    command = "grep -q tree_map b.py || { echo edited > a.py; false; }"
    with pytest.raises(VerificationError, match="but for files that somebody") as caught:
        verified(changes(program, "a.py", "b.py"), command)
    found = content(program)
    assert (found["a.py"], found["b.py"]) == (b"edited\n", OLD)
    (copy,) = found.keys() - {"a.py", "b.py"}
    assert found[copy] == OLD
    assert f"a.py, whose old content is in {program / copy}" in str(caught.value)


def test_if_one_file_cannot_be_written_none_is(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    those = changes(program, "a.py", "b.py")
    genuine = replacing_files.replace

    def refusing(change: Replacement, *arguments: int | None) -> None:
        if change.path == those[1].path:
            raise NotWritten("no")
        genuine(change, *arguments)

    monkeypatch.setattr(replacing_files, "replace", refusing)
    outcome = verified(those, "true")
    assert outcome == ([], [(those[1].path, "no")])
    assert content(program) == {"a.py": OLD, "b.py": OLD}


def test_stopping_the_command_puts_the_files_back(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []

    def stopped(command: str, **_: object) -> subprocess.CompletedProcess[bytes]:
        runs.append(command)
        if len(runs) == 2:
            assert content(program)["a.py"] == NEW
            raise KeyboardInterrupt
        return subprocess.CompletedProcess(command, 0, b"")

    monkeypatch.setattr(subprocess, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        verified(changes(program, "a.py"), "true")
    assert content(program) == {"a.py": OLD}


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o2664])
def test_mode_and_owner_stay(tmp_path: Path, mode: int) -> None:
    (change,) = changes(tmp_path, "a.py")
    if os.geteuid() == 0:
        os.chown(change.path, 1234, 4321)
    change.path.chmod(mode)
    before = change.path.stat()
    replace(change)
    after = change.path.stat()
    assert stat.S_IMODE(after.st_mode) == mode
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert content(tmp_path) == {"a.py": NEW}


def test_a_file_that_has_changed_is_not_written(tmp_path: Path) -> None:
    (change,) = changes(tmp_path, "a.py")
    change.path.write_bytes(b"x = 1\n")
    with pytest.raises(NotWritten, match="the file has changed since it was read"):
        replace(change)
    assert content(tmp_path) == {"a.py": b"x = 1\n"}


def test_a_file_that_has_become_a_link_is_not_written(tmp_path: Path) -> None:
    (change,) = changes(tmp_path, "a.py")
    change.path.rename(tmp_path / "b.py")
    change.path.symlink_to("b.py")
    with pytest.raises(NotWritten, match="the path is a link now"):
        replace(change)
    assert content(tmp_path) == {"a.py": OLD, "b.py": OLD}


@pytest.mark.parametrize("name", ["fsync", "fchmod"])
def test_a_failure_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (change,) = changes(tmp_path, "a.py")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, name, full)
    with pytest.raises(NotWritten, match="No space left on device"):
        replace(change)
    assert content(tmp_path) == {"a.py": OLD}


def test_a_change_that_comes_while_writing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (change,) = changes(tmp_path, "a.py")
    genuine = os.fsync

    def saved_meanwhile(descriptor: int) -> None:
        genuine(descriptor)
        change.path.write_bytes(b"x = 1\n")

    monkeypatch.setattr(os, "fsync", saved_meanwhile)
    with pytest.raises(NotWritten, match="the file has changed"):
        replace(change)
    assert content(tmp_path) == {"a.py": b"x = 1\n"}
