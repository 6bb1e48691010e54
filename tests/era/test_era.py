"""The public names of the stand-ins: each is the stand-in itself, and the guide lists them all."""

from __future__ import annotations

import ast
import importlib
import types

import pytest

import flaxoptim_compat
from flaxoptim_compat import era
from flaxoptim_compat.legacy.entry import LegacyName
from flaxoptim_compat.legacy.lost import ENTRIES
from flaxoptim_compat.legacy.names.public import ERA, MODULES, NAMES
from flaxoptim_compat.migrate.rules import table_of_removed_names
from flaxoptim_compat.migrate.successors.successor import successor
from tests.support.places import GUIDE, ROOT
from tests.support.processes import output_of

PAGE = GUIDE / "stand_ins.md"
FACADE = ROOT / "flaxoptim_compat" / "era" / "__init__.py"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_that_of_a_stand_in(name: str) -> None:
    module, _, attribute = NAMES[name].partition(":")
    assert getattr(era, name) is getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_says_which_names_it_has(name: str) -> None:
    module = getattr(era, name)
    assert isinstance(module, types.ModuleType)
    assert module is importlib.import_module(f"flaxoptim_compat.era.{name}")
    assert module.__all__
    for attribute in module.__all__:
        assert hasattr(module, attribute)


def test_no_program_is_made_to_import_what_is_not_public() -> None:
    for found in filter(None, map(successor, (entry.name for entry in ENTRIES))):
        for written in (found.today, found.imported):
            assert not written.startswith("flaxoptim_compat.legacy"), found
            if written.startswith("flaxoptim_compat."):
                module, _, attribute = written.partition(":")
                served = importlib.import_module(module)
                assert not attribute or hasattr(served, attribute), found


def test_every_public_name_is_of_use() -> None:
    found = [successor(each.name) for each in ENTRIES]
    written = {table_of_removed_names.STAND_IN, *(each.today for each in found if each is not None)}
    assert {f"flaxoptim_compat.era:{name}" for name in NAMES} <= written
    assert {f"flaxoptim_compat.era.{name}" for name in MODULES} <= written


def test_type_checkers_are_told_every_name() -> None:
    told = [
        alias.asname
        for block in ast.parse(FACADE.read_text(encoding="utf-8")).body
        if isinstance(block, ast.If)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom) and statement.module != "typing"
        for alias in statement.names
    ]
    assert sorted(filter(None, told)) == sorted(era.__all__) == sorted({*told})


def test_a_name_of_numpy_needs_no_jax() -> None:
    code = "import sys\nfrom flaxoptim_compat.era import obj2sctype\nprint('jax' in sys.modules)"
    assert output_of(["-c", code], ROOT) == "False\n"


def test_an_unknown_name_fails_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match=r"module 'flaxoptim_compat\.era' has no attribute"):
        _ = era.nothing
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from flaxoptim_compat.era import nothing  # noqa: F401


def test_dir_lists_every_name() -> None:
    assert {*era.__all__, "__name__"} <= set(dir(era))
    assert "era" in dir(flaxoptim_compat)


def rows(public_name: str, old: list[LegacyName]) -> str:
    names = ", ".join(f"`{each.name}`" for each in old)
    later = "; ".join(dict.fromkeys(f"`{each.replacement}`" for each in old))
    return f"| `{public_name}` | {names} | {later} |"


def test_the_page_lists_them_all() -> None:
    expected = []
    for name, path in sorted(NAMES.items(), key=lambda each: each[0].lower()):
        expected.append(rows(name, [each for each in ENTRIES if each.served_by == path]))
    for name in MODULES:
        expected.append(rows(name, [each for each in ENTRIES if each.served_by == f"{ERA}.{name}"]))
    shown = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]
    assert shown == expected
