"""Files are replaced whole or not at all, and put back when a command of the user's fails."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.editing import replacing_files
from flaxoptim_compat.migrate.editing.replacing_files import (
    NotWritten,
    Replacement,
    VerificationError,
    replace,
    write_verified,
)
from flaxoptim_compat.observation.proof import Proof
from tests.support.changed_files import NEW, OLD, changes, content
from tests.support.options import each
from tests.support.places import ROOT
from tests.support.processes import compat


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
    with pytest.raises(NotWritten, match="it has changed since it was read"):
        replace(change)
    assert content(tmp_path) == {"a.py": b"x = 1\n"}


def test_a_file_that_has_become_a_link_is_not_written(tmp_path: Path) -> None:
    (change,) = changes(tmp_path, "a.py")
    change.path.rename(tmp_path / "b.py")
    change.path.symlink_to("b.py")
    with pytest.raises(NotWritten, match="it is a link"):
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
    with pytest.raises(NotWritten, match="it has changed"):
        replace(change)
    assert content(tmp_path) == {"a.py": b"x = 1\n"}


@pytest.mark.parametrize("after", each([1, 60, 250], [60]))
def test_killed_midway_every_file_is_old_or_new(tmp_path: Path, after: int) -> None:
    names = [f"d{number % 7}/f{number:03}.py" for number in range(400)]
    changes(tmp_path, *names)
    (tmp_path / "watched.py").write_bytes(OLD)
    watched = tmp_path / sorted(names)[after]
    process = subprocess.Popen(
        [sys.executable, "-m", "flaxoptim_compat", "rewrite", "--to", "shim", "--write", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )
    while watched.read_bytes() == OLD and process.poll() is None:
        time.sleep(0.0005)
    process.kill()
    process.wait()
    found = content(tmp_path)
    unfinished = [name for name in found if "unfinished-" in name]
    assert len(unfinished) <= 1
    assert {found[name] for name in names} <= {OLD, NEW}
    # What is left behind is no Python file to anybody, and the next run removes it.
    stray = tmp_path / "d0" / "unfinished-f000.py-0123abcd"
    stray.write_bytes(OLD[:5])
    assert "left behind by a rewrite that was killed" in compat(["scan", "."], tmp_path).stdout
    done = compat(["rewrite", "--to", "shim", "--write", "."], tmp_path)
    assert "unfinished-f000.py-0123abcd: removed" in done.stdout
    assert content(tmp_path) == dict.fromkeys([*names, "watched.py"], NEW)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verified(
    those: list[Replacement], command: str, say: Callable[[str], None] = lambda _: None
) -> replacing_files.Outcome:
    judge = Proof([command], lambda text: contextlib.nullcontext(say(text)))
    verdict = judge.before()
    if verdict is not None:
        raise VerificationError(verdict.message, verdict.output, False)
    judge.changes = those
    return write_verified(those, judge, say)


def test_a_command_that_succeeds(program: Path) -> None:
    said: list[str] = []
    outcome = verified(changes(program, "a.py", "b/c.py"), "pwd > out", said.append)
    assert sorted(path.name for path in outcome.written) == ["a.py", "c.py"]
    found = content(program)
    assert found.pop("out").decode().strip() == str(program)
    assert found == {"a.py": NEW, "b/c.py": NEW}
    assert said[0] == "Before: pwd > out" and said[-1] == "After: pwd > out"


def test_a_command_that_fails_before(program: Path) -> None:
    those = changes(program, "a.py")
    with pytest.raises(VerificationError, match="fails before") as caught:
        verified(those, "echo on stdout; echo on stderr >&2; exit 3")
    assert caught.value.output == "on stdout\non stderr\n"
    assert "exit status 3" in str(caught.value)
    assert content(program) == {"a.py": OLD}


def test_a_command_that_fails_after(program: Path) -> None:
    those = changes(program, "a.py", "b/c.py")
    those[1].path.chmod(0o750)
    before = [each.path.stat() for each in those]
    with pytest.raises(VerificationError, match="All files are as they were before"):
        verified(those, "! grep -n tree.map b/c.py | grep -v tree_map")
    assert content(program) == {"a.py": OLD, "b/c.py": OLD}
    for change, status in zip(those, before, strict=True):
        now = change.path.stat()
        assert (now.st_mode, now.st_mtime_ns) == (status.st_mode, status.st_mtime_ns)


def test_a_file_that_the_command_changes_is_not_overwritten(program: Path) -> None:
    command = "grep -q tree_map b.py || { echo edited > a.py; false; }"
    with pytest.raises(VerificationError, match="not these") as caught:
        verified(changes(program, "a.py", "b.py"), command)
    found = content(program)
    assert (found["a.py"], found["b.py"]) == (b"edited\n", OLD)
    assert found[f"{replacing_files.NAME}/files/a.py"] == OLD
    assert replacing_files.NAME in str(caught.value) and "a.py (it has changed" in str(caught.value)


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


def test_without_a_journal_nothing_is_written(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copystat", full)
    with pytest.raises(replacing_files.JournalError, match="cannot be written: No space left"):
        verified(changes(program, "a.py"), "true")
    assert content(program) == {"a.py": OLD}


def test_a_verification_that_is_killed_can_be_undone(tmp_path: Path) -> None:
    program = tmp_path / "it's a program"
    changes(program, "a.py", "b/c.py")
    (program / "b/c.py").chmod(0o750)
    arguments = ["rewrite", ".", "--to", "shim", "--write", "--verify"]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "flaxoptim_compat", *arguments),
            "grep -q tree_map a.py || exec sleep 60",
        ],
        cwd=program,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while (program / "b/c.py").read_bytes() == OLD:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    _, said = process.communicate()
    assert (program / "b/c.py").read_bytes() == NEW
    # The next run does not go on from there, and says what to do, as the killed one did.
    again = compat(["rewrite", "--to", "optax", "--write", "."], program)
    assert again.returncode == 2
    assert "was killed here before it knew" in again.stderr
    commands = re.findall(r"^ +(cp .*)$", said, re.MULTILINE)
    assert commands == re.findall(r"^ +(cp .*)$", again.stderr, re.MULTILINE)
    subprocess.run(commands[0], shell=True, check=True)
    assert content(program) == {"a.py": OLD, "b/c.py": OLD}
    assert stat.S_IMODE((program / "b/c.py").stat().st_mode) == 0o750
