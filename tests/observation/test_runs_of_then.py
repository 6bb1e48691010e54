"""Programs of 2021 on genuine Flax 0.5.3 and jax 0.4.13, recorded there, against a run of today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flaxoptim_compat.cli
from flaxoptim_compat.observation import record, record_files, records, starting
from flaxoptim_compat.observation.curves import Runs, report
from flaxoptim_compat.observation.pairing import paired
from flaxoptim_compat.observation.records import Record
from flaxoptim_compat.observation.trajectories import compare
from tests.support.oracle.cache import clean_environment
from tests.support.places import DATA, OLD_ENVIRONMENT, ROOT

pytestmark = pytest.mark.exhaustive


class Program(NamedTuple):
    """A program, its arguments, and a wrong line of it in place of another one."""

    file: Path
    arguments: str
    steps: int
    line: str
    wrong: str


TRAINED = "--workdir work --steps 30 --save_every 10"
PROGRAMS = {
    "Adam with a warm-up": Program(
        Path(flaxoptim_compat.cli.__file__).with_name("demo_program.txt"),
        *("--workdir work", 400, "LEARNING_RATE = 0.001", "LEARNING_RATE = 0.001001"),
    ),
    "Momentum under pmap": Program(
        DATA / "legacy_programs" / "imagenet_pmap.py",
        *(TRAINED, 30, "optim.Momentum(beta=0.9,", "optim.Momentum(beta=0.899,"),
    ),
    "two Adam in a MultiOptimizer": Program(
        DATA / "legacy_programs" / "detr.py",
        *(TRAINED, 30, "(other, optim.Adam(", "(other, optim.Adam(eps=1.1e-8, "),
    ),
}


def run(command: list[str], folder: Path, **variables: str) -> None:
    devices = "--xla_force_host_platform_device_count=2"
    shown = {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), "XLA_FLAGS": devices}
    environment = clean_environment(**shown, **variables)
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)


def today(program: Path, arguments: str, **variables: str) -> Record:
    """The record of a run here, in the folder of the program."""
    folder = program.with_suffix(".states")
    folder.mkdir()
    words = ["-m", "flaxoptim_compat", "run", "--random", "then", program.name, *arguments.split()]
    (folder / "run").mkdir()
    (folder / "run" / program.name).write_text(program.read_text())
    run([sys.executable, *words], folder / "run", **{starting.NUMBERS: str(folder)}, **variables)
    return records.read(folder)


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_steps_of_then_are_done_today(name: str, tmp_path: Path, old_environment: Any) -> None:
    program = PROGRAMS[name]
    text = program.file.read_text()
    (tmp_path / "train.py").write_text(text)
    copy = tmp_path / "record.py"
    copy.write_bytes(Path(record.__file__).read_bytes())
    words = ["then.npz", str(OLD_ENVIRONMENT / "run_program.py"), "train.py"]
    run([str(old_environment), str(copy), *words, *program.arguments.split()], tmp_path)
    then = record_files.read(tmp_path / "then.npz")
    assert (then.versions["jax"], then.versions["flax"]) == ("0.4.13", "0.5.3")

    now, pairs = paired(then, today(tmp_path / "train.py", program.arguments))
    assert len(pairs) == len(then.states) == len(now.states)
    assert all(each.same_paths == len(each.then.paths) for each in pairs)
    found = compare(then, now)
    assert found.divergence is None and found.all_steps == program.steps
    assert found.steps == sum(record._chosen(step + 1, 1)[1] for step in range(program.steps))
    drawn = report([Runs(then, now)], ("then", "now"))
    assert drawn is not None and drawn.equal and not drawn.identical
    assert "The first run was with" in drawn.notes[-1]

    assert program.line in text
    wrong = tmp_path / "wrong.py"
    wrong.write_text(text.replace(program.line, program.wrong))
    other, _ = paired(then, today(wrong, program.arguments))
    (tmp_path / "control.py").write_text(wrong.read_text())
    control = today(tmp_path / "control.py", program.arguments, **{starting.NUDGED: "1"})
    for each in (None, paired(then, control)[0]):
        assert compare(then, other, each).divergence is not None
