"""``flaxoptim-compat parity``: what it takes, says, writes and refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat.cli import main, parity_runs, progress
from flaxoptim_compat.parity import survey
from tests.support.processes import start
from tests.support.written_programs import forget_programs

pytestmark = pytest.mark.usefixtures("folder_of_its_own")

SMALL = "{'w': jnp.ones((2, 3)), 'b': jnp.zeros(3)}"
OLD, NEW = "optim.Momentum(0.1)", "optax.sgd(0.1, 0.9)"


def run(*arguments: str, params: str = SMALL) -> int:
    return main(["parity", "--params", params, "--steps", "5", *arguments])


def test_equal_sides_and_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parity", OLD, NEW]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("The two runs are identical, bit for bit, at each of 100 steps.\n")
    assert "conv/kernel" in out
    assert f"first   {OLD}\n" in out and f"second  {NEW}\n" in out
    assert "Both sides were given the same gradients." in out
    assert err == ""


def test_sides_that_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("optim.RMSProp(0.01)", "optax.rmsprop(0.01)") == 1
    out, err = capsys.readouterr()
    assert out.startswith("The two runs PART at step 1 of 5, in ")
    assert "[eps-inside-root]" in out
    assert err == ""


def test_the_tolerance(capsys: pytest.CaptureFixture[str]) -> None:
    sides = ("optax.sgd(0.1)", "optax.sgd(0.101)")
    assert [run("--tolerance", each, *sides) for each in ("0.1", "0.001")] == [0, 1]
    assert "0.001 of the distance" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [[OLD, "--steps", "3", NEW], ["--steps", "9", OLD, NEW, "--steps=3"]],
)
def test_options_stand_anywhere(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parity", *words, "--params", SMALL]) == 0
    assert "at each of 3 steps" in capsys.readouterr().out


def test_only_old_which_has_to_be_a_definition(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("optim.LAMB(0.1)") == 0
    assert "second  to_optax(optim.LAMB(0.1))\n" in capsys.readouterr().out
    source = f"optim.Adam(0.1).create({SMALL})"
    assert main(["parity", source, "--steps", "5"]) == 0
    assert f"{source}.to_train_state()"[-30:] in capsys.readouterr().out
    assert run(NEW) == 2
    out, err = capsys.readouterr()
    assert out == "" and "name the other side as NEW." in " ".join(err.split())


def test_sides_in_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("old", "new"):
        Path(folder).mkdir()
        Path(folder, "settings.py").write_text(f"rate = {0.1 if folder == 'old' else 0.2}\n")
    Path("old/train.py").write_text(
        "import jax\nfrom flax import optim\nfrom settings import rate\n\n"
        "class Mine(optim.GradientDescent):\n"
        "    def apply_param_gradient(self, step, hyper_params, param, state, grad):\n"
        "        assert jax.tree_map(lambda x: x, 1) == 1\n"
        "        return param - hyper_params.learning_rate * grad, state\n\n"
        "def make():\n    return Mine(rate)\n\n"
        "def params():\n    return {'w': jax.numpy.ones(3)}\n"
    )
    Path("new/train.py").write_text(
        "from settings import rate\n\n"
        "def init(params):\n    return ()\n\n"
        "def step(params, state, grads):\n"
        "    return {'w': params['w'] - rate * grads['w']}, state\n\n"
        "def pair():\n    return init, step\n"
    )
    sides = ("old/train.py:make", "new/train.py:pair")
    assert run(*sides, params="old/train.py:params") == 1
    forget_programs(tmp_path)
    assert run(sides[0], "optax.sgd(0.1)", params="old/train.py:params") == 0
    out, err = capsys.readouterr()
    assert "first   old/train.py:make  " in out and err == ""


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        (["optim.Momentum("], "optim.Momentum(: the text is no Python expression"),
        (
            [OLD, "bad.py:step_fails"],
            "failed in a step: ValueError: no The error came from {}/bad.py:4.",
        ),
        ([OLD, "bad:init_fails"], "bad:init_fails: ZeroDivisionError at {}/bad.py:7: division"),
        ([OLD, "np"], "flaxoptim-compat: np: <module"),
        (["3", NEW], "flaxoptim-compat: 3: 3 cannot be compared; give a definition"),
        ([f"{OLD}.create({SMALL})", NEW], "has parameters of its own: leave --params out."),
        (["optim.Momentum()", NEW], "AssertionError: no learning rate provided"),
        ([OLD, NEW, "--params", "nowhere.npz"], "nowhere.npz: there is no such file."),
        ([OLD, NEW, "--params", "bad.py"], "bad.py"),
        ([OLD, NEW, "--report", "x.doc"], "x.doc: the name of a report ends with its form"),
        ([OLD, NEW, "--report", "no/x.txt"], "There is no directory no."),
    ],
)
def test_what_cannot_be_run(
    sides: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.py").write_text(
        "import jax\ndef step_fails():\n"
        "    def step(params, state, grads):\n        raise ValueError('no')\n"
        "    return (lambda params: ()), step\n"
        "def init_fails():\n    1 / 0\n"
    )
    assert run(*sides) == 2
    out, err = capsys.readouterr()
    assert out == "" and "Traceback" not in err
    assert said.replace("{}", str(tmp_path)) in " ".join(err.split())
    assert err.startswith("flaxoptim-compat: ")
    assert {entry.name for entry in Path().iterdir()} <= {"bad.py", "__pycache__"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the following arguments are required: OLD"),
        ([OLD, NEW, NEW], "unrecognized arguments"),
        ([OLD, "--steps", "0"], "not a whole number from 1 up: '0'"),
        (["--steps", "many", OLD], "not a whole number from 1 up: 'many'"),
        ([OLD, "--tolerance", "-1"], "not a number from 0 up: '-1'"),
        ([OLD, "--tolerance", "nan"], "not a number from 0 up: 'nan'"),
        (["survey", OLD], "unrecognized arguments"),
        (["survey", "--steps", "3"], "unrecognized arguments: --steps 3"),
    ],
)
def test_words_that_mean_nothing(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["parity", *words])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["html", "json", "txt"])
def test_reports(suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(f"report.{suffix}")
    path.write_text("of yesterday")
    assert run(OLD, NEW, "--report", str(path)) == 0
    out, _ = capsys.readouterr()
    what_next = ": open it in a browser" if suffix == "html" else ""
    assert out.endswith(f"\nWrote {path}{what_next}.\n")
    assert [entry.name for entry in Path().iterdir()] == [path.name]
    text = path.read_text()
    assert OLD in text
    if suffix == "json":
        assert json.loads(text)["equal"] is True
    if suffix == "txt":
        assert out.startswith(text)


def test_a_report_that_fails_leaves_the_old_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("report.txt").write_text("of yesterday")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert run(OLD, NEW, "--report", "report.txt") == 2
    assert "report.txt cannot be written: No space left" in capsys.readouterr().err
    assert Path("report.txt").read_text() == "of yesterday"
    assert [entry.name for entry in Path().iterdir()] == ["report.txt"]


def test_as_a_command_it_does_not_warn_itself(tmp_path: Path) -> None:
    command = ["parity", OLD, NEW, "--params", SMALL, "--steps", "2"]
    done = start(["-W", "error", "-m", "flaxoptim_compat", *command], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_interrupted(tmp_path: Path) -> None:
    Path("slow.py").write_text(
        "import time\nprint('ready', flush=True)\ntime.sleep(60)\ndefinition = None\n"
    )
    command = [sys.executable, "-m", "flaxoptim_compat", "parity", "slow.py:definition"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "flaxoptim-compat: stopped.\n")


def test_progress_is_shown_to_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    assert run(OLD, NEW) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert run(OLD, NEW, "--steps", "5000") == 0
    out, err = capsys.readouterr()
    assert "\033" not in out
    assert "/5000" in err and " steps" in err and err.endswith("\033[2K")


def test_help_names_all_forms(capsys: pytest.CaptureFixture[str]) -> None:
    helps = []
    for words in ([], [OLD]):
        with pytest.raises(SystemExit, match="0"):
            main(["parity", *words, "--help"])
        helps.append(capsys.readouterr().out)
    assert helps[0] == helps[1]
    assert "parity survey" in helps[0]


# --- all optimizers


def test_survey(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    momentum = [each for each in survey.NAMESAKES if "Momentum" in each.legacy]
    monkeypatch.setattr(survey, "NAMESAKES", momentum[:1])
    assert main(["parity", "survey"]) == 0
    out, err = capsys.readouterr()
    assert "to_optax does what flax.optim did, for all of these optimizers." in out
    assert err == ""

    def fails(progress: Any) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(parity_runs, "matrix", fails)
    assert main(["parity", "survey"]) == 2
    assert capsys.readouterr().err.startswith("flaxoptim-compat: RuntimeError")
