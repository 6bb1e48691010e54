"""``flaxoptim-compat rules``, and what ``explain`` has in common with it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from flaxoptim_compat.cli import main, rules
from tests.support.processes import output_of

ALL = rules.all_rules()
CODES = [rule.code for rule in ALL]


def test_rules_prints_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["code", "name", "rewritten", "to", "what", "it", "finds"]
    assert [line[:6] for line in lines if line.startswith("FOC")] == CODES
    assert max(map(len, lines)) <= 110
    assert lines[-1].startswith("flaxoptim-compat explain CODE")


def test_a_table_is_folded_in_its_last_column() -> None:
    rows = [("FOC1", "n", "shim", "words " * 20), ("FOC22", "m", "-", "x")]
    lines = rules.table(rows, 60)
    assert len(lines) > 3 and max(map(len, lines)) <= 70
    column = lines[0].index("what it finds")
    assert all(line[:column].isspace() or line[:3] in ("cod", "FOC") for line in lines)
    assert lines[-1][column:] == "x"


def test_a_terminal_gets_the_same_texts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in (("TERM", "xterm"), ("COLUMNS", "200")):
        monkeypatch.setenv(name, value)
    assert main(["explain", ALL[0].code]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "\033" in out and "What rewrite does" in out
    assert main(["rules"]) == 0
    heading, table = capsys.readouterr().out.split("\n", 1)
    assert re.fullmatch(r"\033\[1mcode +name +rewritten to +what it finds\033\[0m", heading)
    monkeypatch.undo()
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["rules"]) == 0
    assert capsys.readouterr().out.partition("\n")[2] == table


def test_neither_imports_jax(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from argparse import Namespace\n"
        "from flaxoptim_compat.cli import explain, rules\n"
        f"rules.run(Namespace()), explain.run(Namespace(codes=[{ALL[0].code!r}]))\n"
        "assert not {'jax', 'flax', 'optax', 'numpy'} & set(sys.modules)"
    )
    assert "## What rewrite does" in output_of(["-c", code], tmp_path)
