"""Checkpoints are there when the call returns, whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from flaxoptim_compat.checkpoint_files import (
    CheckpointError,
    StoredArray,
    open_checkpoint,
    write_checkpoint,
)
from tests.support.checkpoint_trees import contents, described
from tests.support.places import ROOT
from tests.support.processes import output_of

Format = Literal["msgpack", "orbax"]
TREE = {"a": np.arange(5000.0), "b": {"c": np.ones((3, 2), np.float32)}, "step": 7}
both_formats = pytest.mark.parametrize("format_", ["msgpack", "orbax"])


@pytest.fixture
def umask() -> Iterator[Callable[[int], None]]:
    before = os.umask(0o022)
    yield lambda mask: [os.umask(mask), None][1]
    os.umask(before)


@both_formats
@pytest.mark.parametrize("make", ["file", "directory", "link to nowhere"])
def test_what_is_there_already_is_left_alone(format_: Format, make: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    if make == "file":
        path.write_bytes(b"precious")
    elif make == "directory":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    before = os.lstat(path)
    with pytest.raises(CheckpointError, match=r"x exists already. Give another path"):
        write_checkpoint(path, TREE, format_)
    assert os.listdir(tmp_path) == ["x"]
    assert os.lstat(path) == before


@both_formats
def test_what_appears_meanwhile_is_left_alone(format_: Format, tmp_path: Path) -> None:
    def interfere(done: int, total: int) -> None:
        if done == total:
            (tmp_path / "x").write_bytes(b"precious")

    with pytest.raises(CheckpointError, match="exists already"):
        write_checkpoint(tmp_path / "x", TREE, format_, interfere)
    assert os.listdir(tmp_path) == ["x"]
    assert (tmp_path / "x").read_bytes() == b"precious"


@both_formats
@pytest.mark.parametrize("parent", ["missing", "file"])
def test_there_must_be_a_directory_for_it(format_: Format, parent: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(CheckpointError, match=rf"no directory .*{parent}\. Make it first"):
        write_checkpoint(tmp_path / parent / "x", TREE, format_)


@both_formats
def test_a_directory_that_cannot_be_written_to(format_: Format) -> None:
    # Not even root can make a file there.
    path = "/proc/checkpoint"
    with pytest.raises(CheckpointError, match=f"{path} cannot be written: "):
        write_checkpoint(path, TREE, format_)


@both_formats
def test_errors_on_the_way_leave_nothing_behind(
    format_: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(done: int, total: int) -> None:
        if done == total:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_checkpoint(tmp_path / "x", TREE, format_, stop)
    assert not os.listdir(tmp_path)

    def fsync(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(CheckpointError, match="x cannot be written: No space left on device"):
        write_checkpoint(tmp_path / "x", TREE, format_)
    assert not os.listdir(tmp_path)


@both_formats
def test_a_source_that_fails_on_the_way_leaves_nothing_behind(
    format_: Format, tmp_path: Path
) -> None:
    write_checkpoint(tmp_path / "source", TREE, "msgpack")
    with open_checkpoint(tmp_path / "source") as checkpoint:
        os.truncate(tmp_path / "source", 20_000)
        with pytest.raises(CheckpointError, match="source has become shorter"):
            write_checkpoint(tmp_path / "x", checkpoint.tree, format_)
    assert os.listdir(tmp_path) == ["source"]


@both_formats
def test_a_full_disk_leaves_nothing_behind(format_: Format, tmp_path: Path) -> None:
    """The kernel refuses to let a file grow any further."""
    program = f"""
import os, resource
import numpy as np
from flaxoptim_compat.checkpoint_files import CheckpointError, write_checkpoint
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    write_checkpoint("x", {{"a": np.zeros(1000), "b": np.zeros(1_000_000)}}, {format_!r})
except CheckpointError as error:
    print(error)
print(os.listdir())
"""
    assert output_of(["-B", "-c", program], tmp_path) == (
        "x cannot be written: File too large. The unfinished part has been removed.\n[]\n"
    )


@both_formats
def test_it_is_on_the_disk_before_it_has_its_name(
    format_: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        events.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def noted_replace(path: Path, target: Path) -> None:
        events.append("rename")
        replace(path, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_checkpoint(tmp_path / "x", TREE, format_)
    before, after = events[: events.index("rename")], events[events.index("rename") + 1 :]
    assert after == [tmp_path.name]
    everything = {path.name for path in (tmp_path / "x").rglob("*")}
    assert everything <= set(before)
    assert any(name.startswith("unfinished-x-") for name in before)


@both_formats
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_are_what_the_umask_says(
    format_: Format, mask: int, mode: int, tmp_path: Path, umask: Callable[[int], None]
) -> None:
    umask(mask)
    write_checkpoint(tmp_path / "x", TREE, format_)
    for path in [tmp_path / "x", *(tmp_path / "x").rglob("*")]:
        executable = (mode & 0o444) >> 2 if path.is_dir() else 0
        assert stat.S_IMODE(path.stat().st_mode) == mode | executable


KILLED_EVERYWHERE = """
import os, shutil, sys
import numpy as np
from flaxoptim_compat.checkpoint_files import write_checkpoint
from tests.support.checkpoint_trees import contents, described
from tests.support.dying import die_at_call
from tests.support.places import ROOT

format_ = sys.argv[1]
tree = {"a": np.arange(700.0), "b": {"c": np.ones((3, 2), np.float32)}, "d": None}


def write(call_to_die_at):
    stop = die_at_call(call_to_die_at)
    write_checkpoint("x", tree, format_)
    return stop()


def remove(name):
    shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)


for _ in range(2):  # The first one imports as well.
    total = write(0)
    expected = described(contents("x"))
    remove("x")
outcomes = {"nothing": 0, "unfinished": 0, "whole": 0}
for call in range(1, total + 1, 1 + total // 200):
    child = os.fork()
    if not child:
        write(call)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    left = os.listdir()
    assert len(left) <= 1, left
    if "x" in left:
        assert described(contents("x")) == expected
        outcomes["whole"] += 1
    elif left:
        assert left[0].startswith("unfinished-x-"), left
        outcomes["unfinished"] += 1
    else:
        outcomes["nothing"] += 1
    for name in left:
        remove(name)
print(*(name for name, count in outcomes.items() if count))
"""


@both_formats
def test_killed_at_any_moment(format_: Format, tmp_path: Path) -> None:
    """A process of its own for each of two hundred calls into C, killed right there."""
    environment: dict[str, Any] = {"PYTHONPATH": str(ROOT)}
    printed = output_of(["-B", "-c", KILLED_EVERYWHERE, format_], tmp_path, environment)
    assert printed == "nothing unfinished whole\n"


@both_formats
def test_it_is_there_when_the_call_returns(format_: Format, tmp_path: Path) -> None:
    write_checkpoint(str(tmp_path / "x"), TREE, format_)
    assert os.listdir(tmp_path) == ["x"]
    assert described(contents(tmp_path / "x")) == described(TREE)


@both_formats
def test_values_that_are_not_as_announced_are_not_written(format_: Format, tmp_path: Path) -> None:
    wrong = StoredArray((3,), np.dtype(np.float32), lambda: np.ones(3))
    with pytest.raises(TypeError, match=r"has values of shape .* and dtype float64"):
        write_checkpoint(tmp_path / "x", {"a": wrong}, format_)
    assert not os.listdir(tmp_path)


def test_there_are_no_other_formats(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'msgpack' or 'orbax', not as 'npz'"):
        write_checkpoint(tmp_path / "x", TREE, "npz")  # type: ignore[arg-type]
    assert not os.listdir(tmp_path)


@both_formats
def test_progress_is_told_in_bytes_of_arrays(format_: Format, tmp_path: Path) -> None:
    tree = {"a": np.zeros(3_000_000), "b": np.zeros(10, np.int8), "none": None, "number": 1.5}
    seen: list[tuple[int, int]] = []
    write_checkpoint(tmp_path / "x", tree, format_, lambda *args: seen.append(args))
    done = [entry[0] for entry in seen]
    assert {entry[1] for entry in seen} == {24_000_010}
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, 24_000_010)
    assert max(np.diff(done)) <= 2**22
