"""A copy has the files of a folder, and is gone afterwards; the folder stays as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flaxoptim_compat.observation import copies as module
from flaxoptim_compat.observation.copies import Copies, CopyError
from flaxoptim_compat.observation.observed_command import in_copy, run
from tests.support.places import ROOT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    for name in ("train.py", "runs/checkpoint_4", "data/x.npy", ".git/HEAD", "__pycache__/a.pyc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "pyvenv.cfg").touch()
    (folder / "inside.py").symlink_to(folder / "train.py")
    (folder / "outside").symlink_to("../elsewhere")
    (tmp_path / "elsewhere").mkdir()
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)
    return folder


def test_it_has_the_files_and_links_what_is_shared(folder: Path) -> None:
    with Copies(folder, [Path("data")]) as copies:
        copy = copies.fresh({Path("train.py"): b"new", Path("runs/checkpoint_4"): None})
        assert {each.name for each in copy.iterdir()} == {
            *("train.py", "runs", "data", ".venv", "inside.py", "outside")
        }
        assert (copy / "train.py").read_text() == (copy / "inside.py").read_text() == "new"
        assert not list((copy / "runs").iterdir())
        assert (copy / "data").resolve() == folder / "data"
        assert (copy / "outside").resolve() == folder.parent / "elsewhere"
        assert copies.fresh({}) == copy
        assert (copy / "runs" / "checkpoint_4").stat().st_mtime_ns == (
            folder / "runs" / "checkpoint_4"
        ).stat().st_mtime_ns
        top = copies.top
    assert not top.exists()
    assert (folder / "train.py").read_text() == "train.py"


def test_a_large_folder_is_refused_with_its_largest_parts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    (folder / "data" / "imagenet").mkdir()
    for name in "ab":
        (folder / "data" / "imagenet" / name).write_bytes(bytes(700))
    with pytest.raises(CopyError, match="data/imagenet  1,400 bytes\nAdd --share data/imagenet,"):
        Copies(folder)
    with Copies(folder, [Path("data/imagenet")]) as copies:
        assert (copies.fresh({}) / "data" / "imagenet").is_symlink()


def test_what_is_shared_has_to_be_there(folder: Path) -> None:
    with pytest.raises(CopyError, match=r"There is no .*nosuch to share"):
        Copies(folder, [Path("nosuch")])


def test_a_command_that_names_the_folder_gets_the_copy(folder: Path) -> None:
    with Copies(folder) as copies:
        for text, expected in {
            f"python {folder}/train.py": f"python {copies.copy}/train.py",
            f"cd '{folder}' && x": f"cd '{copies.copy}' && x",
            f"--out={folder}/runs:{folder}": f"--out={copies.copy}/runs:{copies.copy}",
            f"{folder}/.venv/bin/python": f"{folder}/.venv/bin/python",
            f"{folder}2/x {folder}.py": f"{folder}2/x {folder}.py",
        }.items():
            assert in_copy(text, copies) == expected


def test_a_command_runs_in_the_copy_and_leaves_nothing_running(folder: Path) -> None:
    with Copies(folder) as copies:
        copies.fresh({})
        done = run(
            "echo $PWD; pwd; echo x > train.py; rm -r runs; sleep 600 &", copies, Path(), "a"
        )
        assert (done.status, done.last_lines) == (0, f"{copies.copy}\n" * 2)
        assert run("sleep 600", copies, Path(), "b", timeout=0.2).status is None
    assert (folder / "train.py").read_text() == "train.py" and (folder / "runs").is_dir()


KILLED = """
import signal, sys
from pathlib import Path
from flaxoptim_compat.observation.copies import Copies
from flaxoptim_compat.observation.observed_command import run
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup ignores
copies = Copies(Path())
copies.fresh({})
run(f"echo {copies.top} $$ > {sys.argv[1]}.new; mv {sys.argv[1]}.new {sys.argv[1]}; sleep 600",
    copies, Path(), "a")
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="has no /proc of Linux")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_a_proof_that_is_killed_leaves_nothing(folder: Path, number: signal.Signals) -> None:
    said = folder.parent / "said"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(said)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )
    while not said.exists():
        assert process.poll() is None
        time.sleep(0.01)
    top, shell = said.read_text().split()
    process.send_signal(number)
    process.wait()
    end = time.monotonic() + 30
    while Path(top).exists() or Path("/proc", shell).exists():
        assert time.monotonic() < end
        time.sleep(0.05)
