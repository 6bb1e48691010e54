"""``flaxoptim-compat demo``: two runs, and what it says of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import flaxoptim_compat
from flaxoptim_compat import optim
from flaxoptim_compat.cli import demo, main

ROW = re.compile(r" *(\d+)" + r" +([-+.e\d]+|inf)" * 5)


def rows(output: str) -> list[list[float]]:
    return [[*map(float, m.groups())] for m in map(ROW.fullmatch, output.splitlines()) if m]


def test_the_demo_finds_that_the_runs_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--steps", "40"]) == 0
    output, errors = capsys.readouterr()
    found = rows(output)
    assert [row[0] for row in found] == [5, 10, 15, 20, 25, 30, 35, 40]
    assert all(row[5] <= demo.agreement_bound(20) for row in found)
    assert found[-1][2] < 0.5 * found[0][2]
    assert "after step 20, run 2 goes on with optax ---" in output
    assert "optimizer.to_train_state(apply_fn=model.apply)" in output
    assert max(map(len, output.splitlines())) <= 80
    assert errors == ""


def test_the_demo_finds_that_the_runs_do_not_agree(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    genuine = optim.Optimizer.to_train_state

    def forgetful(self: Any, apply_fn: Any = None) -> Any:
        return genuine(self.optimizer_def.create(self.target), apply_fn)

    monkeypatch.setattr(optim.Optimizer, "to_train_state", forgetful)
    assert main(["demo", "--steps", "10"]) == 1
    assert "The two runs do NOT agree: at step " in capsys.readouterr().out


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_short_demos(steps: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--steps", str(steps), "--seed", "4294967295"]) == 0
    assert len(rows(capsys.readouterr().out)) == steps


def test_the_seed_decides(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in ("1", "1", "2"):
        assert main(["demo", "--steps", "4", "--seed", seed]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]


def test_progress_is_shown_to_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["demo", "--steps", "2"]) == 0
    output, errors = capsys.readouterr()
    assert errors.startswith(f"\r\033[K[{'#' * 15}{'.' * 15}] step 1 of 2, ")
    assert errors.endswith("\r\033[K")
    assert "\033" not in output


def test_what_is_said_about_the_difference() -> None:
    row = demo.Row(7, 0.01, 0.5, 0.5, 1e-7, 3.25)
    assert "equal, bit for bit" in demo.verdict(row._replace(ulps=0.0), 10.0)
    assert "differ by 3.25 ulp at most, and 10\nare allowed" in demo.verdict(row, 10.0)
    assert "at step 7 parameters differ by 3.25 ulp,\nand 2 are" in demo.verdict(row, 2.0)


@pytest.mark.parametrize(
    "arguments",
    [["--steps", "0"], ["--steps", "-1"], ["--steps", "many"], ["--seed", str(2**32)], ["--sed"]],
)
def test_wrong_options_are_named(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["demo", *arguments])
    assert arguments[-1] in capsys.readouterr().err


@pytest.fixture
def script() -> list[str]:
    """The command as installed, or the module where only the checkout is there."""
    installed = Path(sys.executable).with_name("flaxoptim-compat")
    return [str(installed)] if installed.exists() else [sys.executable, "-m", "flaxoptim_compat"]


def test_the_command_works_from_any_directory(script: list[str], tmp_path: Path) -> None:
    checkout = Path(flaxoptim_compat.__file__).parents[1]
    done = subprocess.run(
        [*script, "demo", "--steps", "8"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(rows(done.stdout)) == 8
    assert list(tmp_path.iterdir()) == []
