"""What ``--help`` prints, on a terminal of eighty columns."""

from __future__ import annotations

import pytest

from flaxoptim_compat.cli import SUBCOMMANDS, main
from flaxoptim_compat.cli.parity import RECORDER

FORMS = [
    [],
    *([name] for name in SUBCOMMANDS),
    ["checkpoint", "inspect"],
    ["checkpoint", "convert"],
    ["parity", "record"],
    ["parity", "replay"],
    ["parity", "survey"],
]


@pytest.mark.parametrize("command", FORMS, ids=" ".join)
def test_help_fits_eighty_columns(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as caught:
        main([*command, "--help"])
    assert not caught.value.code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("usage: flaxoptim-compat")
    # A path is copied, so it stays whole.
    assert [line for line in lines if len(line) > 80 and str(RECORDER) not in line] == []


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_help_says_what_happens_and_what_to_type(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    command = [name, "convert"] if name == "checkpoint" else [name]
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    text = capsys.readouterr().out
    # Examples keep their lines.
    assert f"\n  flaxoptim-compat {name}" in text
    assert "Exit status: 0 " in " ".join(text.split()) or name == "run"
