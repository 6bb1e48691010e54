"""Ten copies of a program take ten times the work of one, in calls, which no clock moves."""

from __future__ import annotations

import collections
import shutil
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from flaxoptim_compat.cli import main
from tests.support.places import DATA

COMMANDS = {
    "scan": ["scan"],
    "shim": ["rewrite", "--to", "shim", "--check"],
    "optax": ["rewrite", "--to", "optax", "--check"],
}
COPIES = 10


def calls(*arguments: str) -> int:
    """How many functions a command calls."""
    counted: collections.Counter[str] = collections.Counter()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        del frame, argument
        counted[event] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        assert main(list(arguments)) == 1
    finally:
        sys.setprofile(before)
    return counted["call"] + counted["c_call"]


@pytest.mark.parametrize("command", COMMANDS)
def test_ten_copies_take_ten_times_the_calls(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(COPIES):
        shutil.copytree(DATA / "wild_programs" / "library", tmp_path / "ten" / f"copy_{number}")
    arguments = COMMANDS[command]
    one = str(tmp_path / "ten" / "copy_0")
    calls(*arguments, one)  # what is made once and kept
    count = calls(*arguments, one)
    assert calls(*arguments, str(tmp_path / "ten")) < 1.05 * COPIES * count
    capsys.readouterr()
