"""Old programs, unedited: killed, started again, and in the end equal to the genuine flax.optim."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.legacy_program_runs import (
    CASES,
    PROGRAMS,
    Protocol,
    assert_equal_up_to,
    final_of,
    losses_until,
    run_killed_and_resumed,
)
from tests.support.options import each

GENUINE = ("-m", "tests.data.legacy_programs.genuine")
PROTOCOL = Protocol()


# Every run trains one that it restores by hand.
@pytest.mark.parametrize("name", each(CASES, ["seq2seq"]))
@pytest.mark.usefixtures("genuine")  # skips where the genuine flax cannot be had
def test_killed_and_resumed_it_ends_as_with_the_genuine_optimizers(
    name: str, tmp_path: Path
) -> None:
    program = CASES[name]
    copies = [tmp_path / "ours", tmp_path / "genuine"]
    for copy in copies:
        shutil.copytree(PROGRAMS, copy, ignore=shutil.ignore_patterns("genuine.py", "__pycache__"))
    command = program.command.split()

    assert run_killed_and_resumed(command, copies[0], PROTOCOL) < program.fallen

    uninterrupted = losses_until(None, [*GENUINE, *command, *PROTOCOL.arguments], copies[1])
    assert uninterrupted.keys() == set(range(PROTOCOL.steps))
    assert_equal_up_to(program.ulps, final_of(copies[0]), final_of(copies[1]))
