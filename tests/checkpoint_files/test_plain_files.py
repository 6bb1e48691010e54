"""Only plain files below a checkpoint are read: a link could lead out, a pipe keep us waiting."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from flaxoptim_compat.checkpoint_files import CheckpointError, write_checkpoint
from flaxoptim_compat.cli import main
from tests.support.checkpoint_trees import contents
from tests.support.orbax_states import save_pytree


def listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        # An address is short, and may be relative.
        before = os.getcwd()
        os.chdir(path.parent)
        listening.bind(path.name)
        os.chdir(before)


SPECIAL: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "is a pipe, a device or a socket"),
    "link": (lambda path: path.symlink_to(path.parent / "secret"), "is a symbolic link"),
    "socket": (listen, "is a pipe, a device or a socket"),
}


def orbax_directory(path: Path) -> Path:
    write_checkpoint(path, {"a": np.ones(3), "c": "text"}, "orbax")
    return path


def parts_of(directory: Path) -> list[Path]:
    return sorted(file for file in directory.rglob("*") if file.is_file())


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("made", [orbax_directory, save_pytree], ids=["folders", "database"])
def test_nothing_else_stands_in_the_place_of_a_file(
    made: Callable[[Path], Path], special: str, tmp_path: Path
) -> None:
    whole = made(tmp_path / "whole")
    put, problem = SPECIAL[special]
    for number, part in enumerate(parts_of(whole)):
        copy = Path(shutil.copytree(whole, tmp_path / str(number)))
        place = copy / part.relative_to(whole)
        place.rename(place.with_name("secret")) if special == "link" else place.unlink()
        put(place)
        with pytest.raises(CheckpointError, match=f"{place.name} {problem}"):
            contents(copy)


def test_no_folder_is_a_link(tmp_path: Path) -> None:
    whole = orbax_directory(tmp_path / "whole")
    (whole / "a").rename(tmp_path / "elsewhere")
    (whole / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match="whole/a is a symbolic link"):
        contents(whole)


def test_a_folder_is_no_file_of_a_checkpoint(tmp_path: Path) -> None:
    whole = orbax_directory(tmp_path / "whole")
    (whole / "a" / "0").unlink()
    (whole / "a" / "0").mkdir()
    with pytest.raises(CheckpointError, match="the array 'a' cannot be read"):
        contents(whole)


def test_the_checkpoint_itself_may_be_named_by_a_link(tmp_path: Path) -> None:
    orbax_directory(tmp_path / "10")
    (tmp_path / "newest").symlink_to("10")
    assert contents(tmp_path / "newest")["c"] == "text"


def test_parity_does_not_wait_for_a_pipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    status = main(["parity", "--params", str(tmp_path / "pipe"), "optim.Adam(0.1)"])
    assert status == 2
    assert "is a pipe or a device" in " ".join(capsys.readouterr().err.split())
