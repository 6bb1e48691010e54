"""A file is replaced whole or not at all, and so are all files of a run."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.editing import replacing_files
from flaxoptim_compat.migrate.editing.replacing_files import NotWritten, Replacement, replace
from tests.support.changed_files import NEW, OLD, changes, content, written


def test_if_one_file_cannot_be_written_none_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    those = changes(tmp_path, "a.py", "b.py")
    genuine = replacing_files.replace

    def refusing(change: Replacement, *arguments: int | None) -> None:
        if change.path == those[1].path:
            raise NotWritten("no")
        genuine(change, *arguments)

    monkeypatch.setattr(replacing_files, "replace", refusing)
    outcome = written(those, tmp_path)
    assert outcome == ([], [(those[1].path, "no")])
    assert content(tmp_path) == {"a.py": OLD, "b.py": OLD}


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
