"""What ``--help`` and ``explain`` print, on terminals of any width."""

from __future__ import annotations

import re
import sys

import pytest

from flaxoptim_compat.cli import SUBCOMMANDS, main
from flaxoptim_compat.migrate.rules import rule_modules
from flaxoptim_compat.migrate.rules.page import page

FORMS = [
    [],
    *([name] for name in SUBCOMMANDS),
    ["checkpoint", "inspect"],
    ["checkpoint", "convert"],
    ["parity", "survey"],
]


@pytest.mark.parametrize("command", FORMS, ids=" ".join)
def test_help_fits_eighty_columns_and_says_what_to_type(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as caught:
        main([*command, "--help"])
    assert not caught.value.code
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert lines[0].startswith(" ".join(["usage: flaxoptim-compat", *command, ""]))
    assert [line for line in lines if len(line) > 80] == []
    if command in ([each] for each in {*SUBCOMMANDS} - {"checkpoint"}) or "convert" in command:
        # Examples keep their lines.
        assert f"\n  flaxoptim-compat {command[0]}" in text
        assert "Exit status: 0 " in " ".join(text.split()) or command == ["run"]


def test_without_a_subcommand_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "demo" in capsys.readouterr().out


# --- the pages of rules

CODES = [*rule_modules()]


def test_without_a_code_it_lists_all_rules(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"code +name +rewritten to +what it finds", lines[0])
    assert [line[:6] for line in lines if line.startswith("FOC")] == CODES
    assert max(map(len, lines)) <= 110
    assert lines[-1].startswith("flaxoptim-compat explain CODE")
    # However narrow the terminal is, no word is missing.
    words = " ".join(lines).split()
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["explain"]) == 0
    assert sorted(capsys.readouterr().out.split()) == sorted(words)


def test_explain_prints_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    codes = CODES[:2]
    assert main(["explain", codes[0].lower(), *codes[1:]]) == 0
    assert capsys.readouterr().out == "\n".join(map(page, codes))


def test_explain_says_where_all_codes_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", CODES[0], "foc000", "E501"]) == 2
    out, err = capsys.readouterr()
    said = "There is no rule FOC000, E501. All: flaxoptim-compat explain"
    assert not out and err == f"flaxoptim-compat: {said}\n"


def test_a_terminal_gets_the_same_texts_in_styles(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in (("TERM", "xterm"), ("COLUMNS", "200")):
        monkeypatch.setenv(name, value)
    assert main(["explain", CODES[0]]) == 0
    page_in_styles = " ".join(capsys.readouterr().out.split())
    assert "\033" in page_in_styles and "What rewrite does" in page_in_styles
    assert main(["explain"]) == 0
    in_styles = capsys.readouterr().out
    monkeypatch.undo()
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["explain"]) == 0
    plain = capsys.readouterr().out
    assert in_styles != plain
    assert re.sub(r"\033\[[\d;]*m", "", in_styles).split() == plain.split()
