"""``flaxoptim-compat scan`` on many files: progress, several processes, and their end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from flaxoptim_compat.cli import main
from flaxoptim_compat.migrate import workers
from tests.support.places import ROOT
from tests.support.terminal import on_a_terminal

MAP = "import jax\njax.tree_map\n"
STARTS = "from flaxoptim_compat.cli import main\nsys.exit(main())\n"


def big_program(folder: Path) -> None:
    text = MAP + "\n".join(f"def f{n}(x):\n    return jax.tree_map(g, x)\n" for n in range(15))
    for number in range(700):
        (folder / f"f{number:03}.py").write_text(text)


def test_progress_on_a_terminal(tmp_path: Path) -> None:
    big_program(tmp_path)
    status, shown, output = on_a_terminal(["scan", ".", "--statistics"], tmp_path, "stderr")
    assert status == 1
    assert b"\033" not in output
    # The line goes away in the end.
    assert re.search(rb"\[#+\.*\] \d+ of 700 files", shown)
    assert shown.endswith(b"\r\033[K")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_stopping_leaves_no_process_behind(tmp_path: Path, how: signal.Signals) -> None:
    big_program(tmp_path)
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        [sys.executable, "-m", "flaxoptim_compat", "scan", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "STARTED_BY_TEST": mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    if len(os.sched_getaffinity(0)) > 1:
        wait_until(lambda: len(processes_with(mark)) >= 3)
    else:
        time.sleep(0.5)
    process.send_signal(how)
    _, errors = process.communicate()
    wait_until(lambda: not processes_with(mark))
    if how == signal.SIGINT:
        assert (process.returncode, errors) == (130, b"flaxoptim-compat: stopped.\n")


def test_no_module_of_the_folder_is_imported(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    big_program(folder)
    for name in ("multiprocessing", "pickle", "selectors", "signal", "struct", "threading"):
        (folder / f"{name}.py").write_text("open('imported', 'w')\n")
    # Like the command that pip installs, which has its own folder in sys.path and not this one.
    command = tmp_path / "command.py"
    command.write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{STARTS}")
    done = subprocess.run(
        [sys.executable, "-E", command, "scan", ".", "--statistics"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert not (folder / "imported").exists()


def processes_with(mark: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_file_that_ends_the_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(90):
        Path(f"f{number:02}.py").write_text(MAP)
    Path("f33a.py").write_text("jax = 1\n")
    break_down = (
        "import flaxoptim_compat.migrate.workers as w; genuine = w.examine;"
        "w.examine = lambda file, task: os._exit(1) if file.path.name == 'f33a.py'"
        " else genuine(file, task); w.serve()"
    )
    start = workers._START.partition("from flaxoptim")[0]
    monkeypatch.setattr(workers, "_START", start + break_down)
    monkeypatch.setattr(workers, "_FILES_PER_WORKER", 30)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(2))
    assert main(["scan", "."]) == 2
    lines = capsys.readouterr().out.splitlines()
    found = [line.partition(":")[0] for line in lines if "FOC151" in line]
    assert found == [f"f{number:02}.py" for number in range(90)]
    assert "f33a.py: not read: Python breaks down when it parses this" in lines
    assert any(
        each.startswith("90 files parsed, 0 without any name in question, 1 not read")
        for each in lines
    )
