"""One mistake at the command line, one message, which says what to type instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from flaxoptim_compat.cli import main
from tests.support.processes import compat

# What is typed, and the message, without its line breaks.
MISTAKES = {
    "scna .": "flaxoptim-compat: There is no subcommand `scna`. Did you mean `scan`?",
    "train.py": (
        "flaxoptim-compat: train.py is no subcommand. To run the program:"
        " flaxoptim-compat run train.py"
    ),
    "convert": (
        "flaxoptim-compat: There is no subcommand `convert`, only run, scan, rewrite, verify,"
        " explain, checkpoint, parity, enable, disable, status, demo."
    ),
    "run --steps 100 train.py --name a": (
        "flaxoptim-compat run: error: `run` has no option --steps. Options of the program stand"
        " after its name: flaxoptim-compat run train.py --steps 100 --name a"
    ),
    "run --steps": (
        "flaxoptim-compat run: error: `run` has no option --steps. Options of the program stand"
        " after its name"
    ),
    "run old.ipynb": (
        "flaxoptim-compat run: error: old.ipynb is a notebook. Open it, and run `import"
        " flaxoptim_compat; flaxoptim_compat.install()` in a first cell."
    ),
    "run --observe train.py": (
        "flaxoptim-compat: --observe keeps its notes in .flaxoptim_compat, in this folder:"
        " [Errno 17] File exists: '.flaxoptim_compat'"
    ),
    "explain FOC299": ("flaxoptim-compat: There is no rule FOC299. All: flaxoptim-compat explain"),
    "parity optim.Adma(0.1) optax.adam(0.1)": (
        "flaxoptim-compat: optim.Adma(0.1): AttributeError: module 'flaxoptim_compat.optim' has no"
        " attribute 'Adma'. Did you mean 'Adam'?"
    ),
}


@pytest.mark.parametrize("typed", MISTAKES)
def test_the_message_says_what_to_type(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").touch()
    Path("old.ipynb").write_text("{}")
    Path(".flaxoptim_compat").touch()
    try:
        status = main(typed.split())
    except SystemExit as end:
        status = int(end.code or 0)
    said = " ".join(capsys.readouterr().err.split()).replace(f"{tmp_path}/", "")
    assert status == 2 and said.endswith(MISTAKES[typed]), said


def test_a_file_that_is_not_there_is_all_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["scan", "train.py"]) == 2
    assert capsys.readouterr().out.splitlines() == [
        "No file was read.",
        "1 file not read: see the end.",
        "",
        "train.py: not read: there is no such file or folder",
    ]


@pytest.mark.parametrize("program", ["train.py", "-m train"])
def test_an_option_behind_the_program_is_its_own(program: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys\n\nprint(sys.argv[1:])\n")
    words = program.split()
    done = compat(["run", *words, "--random", "then"], tmp_path)
    assert done.stdout == "['--random', 'then']\n"
    assert " ".join(done.stderr.split()).startswith(
        f"flaxoptim-compat: {words[-1]} gets the option --random, which stands after its name. If"
        f" it is for this command: flaxoptim-compat run --random then {program}"
    )


def test_a_rule_has_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "201"]) == 0
    assert capsys.readouterr().out.startswith("# FOC201 constructor\n")
