"""Files are replaced whole or not at all, however the writing ends."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.editing.writing import NotWritten, replace
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
