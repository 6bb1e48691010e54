"""The codes and names of the rules, and where each rule stands."""

from __future__ import annotations

import functools
import inspect
import re

from flaxoptim_compat.migrate.rules import rule_modules

ALL = [each.rule for each in rule_modules().values()]
CODES = [rule.code for rule in ALL]


def test_a_rule_stands_in_the_file_of_its_code_or_in_a_table() -> None:
    for code, registered in rule_modules().items():
        assert registered.rule.code == code
        if isinstance(registered.sees, functools.partial):
            module = inspect.getmodule(registered.sees.func)
            assert module is not None and ".table_of_" in module.__name__
            assert registered.rule in module.RULES and registered.sees.args == (code,)
        else:
            module = inspect.getmodule(registered.sees)
            assert module is not None and f".{code.lower()}_" in module.__name__


def test_codes_and_names_are_used_once() -> None:
    for rule in ALL:
        assert re.fullmatch(r"FOC\d{3}", rule.code)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert sorted(set(CODES)) == CODES
    assert len({rule.name for rule in ALL}) == len(ALL)
