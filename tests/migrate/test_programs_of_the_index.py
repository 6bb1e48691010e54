"""Programs of the time in the package index, moved with a run: each step has the same bits."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from flaxoptim_compat.cli import main
from tests.support.oracle.cache import OracleUnavailable
from tests.support.oracle.era_packages import PROGRAMS, era_packages
from tests.support.places import DATA, ROOT
from tests.support.processes import compat

DRIVERS = DATA / "observed_programs" / "of_the_index"


class Program(NamedTuple):
    """A package, and what is known of its optimizers.

    Args:
      made: how many its files make.
      from_the_text: how many of them become plain TrainStates without a run; the others dual ones.
      with_a_run: and with one.
      proof: what the rewrite says of the numbers.
    """

    made: int
    from_the_text: int
    with_a_run: int
    proof: str


FOUND = {
    "brax": Program(6, 1, 6, "optimizers, .* steps: the same bits before and after"),
    "dopamine": Program(5, 5, 5, "optimizers, .* steps: the same bits before and after"),
}


@pytest.fixture(params=FOUND)
def program(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a package; a copy of it is in the current folder."""
    try:
        name = str(request.param)
        shutil.copytree(era_packages(PROGRAMS) / name, tmp_path / name)
    except OracleUnavailable as error:
        pytest.skip(str(error))
    monkeypatch.chdir(tmp_path)
    return name


@pytest.mark.exhaustive
def test_the_text_alone(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", program]) == 1
    said = capsys.readouterr().out
    made, plain, *_ = FOUND[program]
    moved = f"{made} of {made} optimizers move: {plain} to TrainState, {made - plain} to Dual"
    assert (moved if plain < made else f"{made} of {made} optimizers become TrainStates") in said
    assert main(["rewrite", program, "--to", "shim", "--check"]) == 1


@pytest.mark.exhaustive
def test_a_run_moves_it_with_the_same_bits(program: str) -> None:
    path = [DRIVERS, era_packages(PROGRAMS), era_packages(), ROOT]
    driver = f"{sys.executable} {DRIVERS / f'drive_{program}.py'}"
    done = compat(
        ["rewrite", program, "--to", "optax", "--write", "--verify", driver],
        Path.cwd(),
        {"PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    # What is left of them may stay.
    assert done.returncode == 0, done.stdout + done.stderr
    made, _, moved, proof = FOUND[program]
    assert re.search(rf"{moved} of {made} optimizers become TrainStates", done.stdout), done.stdout
    assert re.search(proof, done.stdout), done.stdout
