"""``flaxoptim-compat explain``, which prints the pages of rules."""

from __future__ import annotations

import re

import pytest

from flaxoptim_compat.cli import main, rules
from flaxoptim_compat.migrate.rules.page import page

ALL = rules.all_rules()


def test_explain_prints_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    codes = [rule.code for rule in ALL[:2]]
    assert main(["explain", codes[0].lower(), *codes[1:]]) == 0
    assert capsys.readouterr().out == "\n".join(map(page, codes))


def test_explain_says_which_codes_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", ALL[0].code, "foc000", "E501"]) == 2
    out, err = capsys.readouterr()
    assert not out and err.startswith(
        "flaxoptim-compat: There is no rule FOC000, E501. There are FOC1"
    )
    assert {rule.code for rule in ALL} <= set(re.findall(r"FOC\d+", err))
