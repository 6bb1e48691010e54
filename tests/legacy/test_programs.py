"""Old programs, unedited: killed, started again, and in the end equal to the genuine flax.optim."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.legacy_program_runs import (
    CASES,
    OURS,
    PROGRAMS,
    assert_equal_up_to,
    final_of,
    losses_until,
)
from tests.support.options import each

GENUINE = ("-m", "tests.data.legacy_programs.genuine")
STEPS, SAVE_EVERY, KILLED_AT = 30, 5, 12
PROTOCOL = ("--steps", str(STEPS), "--save_every", str(SAVE_EVERY))


# Every run trains one that it restores by hand.
@pytest.mark.parametrize("name", each(CASES, ["sac"]))
@pytest.mark.usefixtures("genuine")  # skips where the genuine flax cannot be had
def test_killed_and_resumed_it_ends_as_with_the_genuine_optimizers(
    name: str, tmp_path: Path
) -> None:
    program = CASES[name]
    copies = [tmp_path / "ours", tmp_path / "genuine"]
    for copy in copies:
        shutil.copytree(PROGRAMS, copy, ignore=shutil.ignore_patterns("genuine.py", "__pycache__"))
    command = [*program.command.split(), "--workdir", "work", *PROTOCOL]

    killed = losses_until(KILLED_AT, [*OURS, *command], copies[0])
    assert killed.keys() == set(range(len(killed)))
    assert KILLED_AT < len(killed) < STEPS
    assert not list(copies[0].glob("work/final.*"))

    resumed = losses_until(None, [*OURS, *command], copies[0])
    first = min(resumed)
    assert 0 < first <= len(killed) and first % SAVE_EVERY == 0
    assert resumed.keys() == set(range(first, STEPS))
    assert {step: killed[step] for step in range(first, len(killed))}.items() <= resumed.items()
    assert resumed[STEPS - 1] < program.fallen * killed[0]

    uninterrupted = losses_until(None, [*GENUINE, *command], copies[1])
    assert uninterrupted.keys() == set(range(STEPS))
    assert_equal_up_to(program.ulps, final_of(copies[0]), final_of(copies[1]))
