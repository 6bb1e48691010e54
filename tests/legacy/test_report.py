"""The line about a program that used no legacy names."""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import compat
from tests.support.written_programs import write


def test_a_program_without_legacy_names(tmp_path: Path) -> None:
    write(tmp_path, program="import flax")
    done = compat(["run", "program.py"], tmp_path)
    assert "no legacy names were used; python runs this program as it is." in done.stderr
