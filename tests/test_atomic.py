"""Files and directories that appear whole, and what is left where one does not."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from flaxoptim_compat.atomic import appearing_directory, appearing_file


class Refused(Exception):
    pass


def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with appearing_file(path, mode=0o600) as file:
        file.write(b"new")
        file.flush()
        (unfinished,) = (each for each in tmp_path.iterdir() if each != path)
        assert path.read_bytes() == b"old" and unfinished.read_bytes() == b"new"
        assert stat.S_IMODE(unfinished.stat().st_mode) == 0o600
    assert path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("refused", [0, 1])
def test_the_check_is_asked_before_and_after(refused: int, tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def check() -> None:
        asked.append(os.listdir(tmp_path))
        if len(asked) > refused:
            raise Refused

    with pytest.raises(Refused), appearing_file(tmp_path / "x", check) as file:
        file.write(b"new")
    assert list(map(len, asked)) == [0, 1][: refused + 1]
    assert not os.listdir(tmp_path)


def test_an_error_in_removing_does_not_hide_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(Refused), appearing_file(tmp_path / "x"):
        raise Refused


def test_what_is_there_is_never_said_not_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    genuine = os.fsync

    def fails_for_directories(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(5, "Input/output error")
        genuine(descriptor)

    monkeypatch.setattr(os, "fsync", fails_for_directories)
    with appearing_file(tmp_path / "x") as file:
        file.write(b"new")
    assert (tmp_path / "x").read_bytes() == b"new"
    # Of a directory that has not appeared yet it can be said.
    with pytest.raises(OSError, match="error"), appearing_directory(tmp_path / "y", lambda: None):
        pass
    assert os.listdir(tmp_path) == ["x"]
