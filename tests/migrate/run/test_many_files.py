"""``flaxoptim-compat scan`` on many files: progress, its end, and files that are hard to parse."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flaxoptim_compat.cli import main
from tests.support.places import ROOT
from tests.support.terminal import on_a_terminal

MAP = "import jax\njax.tree_map\n"
STARTS = "from flaxoptim_compat.cli import main\nsys.exit(main())\n"
# Python's parser counts some kinds of nesting and not others.
NESTED = {
    "attributes": "jax" + ".a" * 300_000,
    "brackets": "jax" + "[" * 100_000,
    "calls": "jax" + "()" * 300_000,
    "conditions": "jax = " + "1 if 2 else " * 100_000 + "3",
    "elif": "if jax:\n pass\n" + "elif jax:\n pass\n" * 100_000,
    "lambdas": "jax = " + "lambda: " * 100_000 + "1",
    "not": "jax = " + "not " * 100_000 + "1",
    "powers": "jax = " + "**".join("1" * 100_000),
    "signs": "jax = " + "-" * 100_000 + "1",
    "sums": "jax = " + "+".join("1" * 300_000),
}


def big_program(folder: Path) -> None:
    text = MAP + "\n".join(f"def f{n}(x):\n    return jax.tree_map(g, x)\n" for n in range(12))
    for number in range(700):
        (folder / f"f{number:03}.py").write_text(text)


def test_progress_on_a_terminal(tmp_path: Path) -> None:
    big_program(tmp_path)
    status, shown, output = on_a_terminal(["scan", ".", "--statistics"], tmp_path, "stderr")
    assert status == 1
    assert b"\033" not in output
    # The bar goes away in the end, where there was time for one.
    plain = re.sub(rb"\033\[[\d;?]*[a-zA-Z]", b"", shown)
    assert not shown or re.search(rb" \d+/700 files", plain)
    assert shown.endswith(b"\033[2K") or not shown


@pytest.mark.parametrize("command", [["scan", "."], ["rewrite", ".", "--to", "shim", "--write"]])
def test_ctrl_c_ends_at_once_and_changes_nothing(tmp_path: Path, command: list[str]) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    big_program(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*")}
    # It says when it has started: an interrupt before that is one of Python's start.
    start = (
        "import sys\nfrom flaxoptim_compat.migrate.run import pipeline\n"
        "genuine = pipeline.examine\n"
        "def examine(*arguments):\n"
        "    print('reading', flush=True)\n    return genuine(*arguments)\n"
        f"pipeline.examine = examine\n{STARTS}"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", start, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"reading\n"
    process.send_signal(signal.SIGINT)
    since = time.monotonic()
    _, errors = process.communicate()
    assert time.monotonic() - since < 5
    assert process.returncode == 130
    assert errors.startswith(b"flaxoptim-compat: stopped.")
    assert {path: path.read_bytes() for path in folder.rglob("*")} == before


def test_no_module_of_the_folder_is_imported(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "program.py").write_text(MAP)
    for name in ("json", "hashlib", "signal", "struct", "threading"):
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


def test_files_that_are_nested_too_deeply_for_the_parser_of_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in NESTED.items():
        Path(f"{name}.py").write_text(f"{text}\n")
    Path("z.py").write_text(MAP)
    assert main(["scan", ".", "--format", "concise"]) == 2
    lines = capsys.readouterr().out.splitlines()
    unread = [line.partition(": not read: ") for line in lines if "not read: " in line]
    assert [name for name, _, _ in unread] == [f"{name}.py" for name in NESTED]
    assert all("nested" in why for _, _, why in unread)
    assert "z.py:2:1: FOC151" in "\n".join(lines)
