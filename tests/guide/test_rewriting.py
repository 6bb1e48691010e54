"""``migration_guide/rewriting.md`` shows what its commands print, and its settings are settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from flaxoptim_compat.migrate.rules import rule_modules
from flaxoptim_compat.migrate.run.settings import check_codes, read_settings
from flaxoptim_compat.versions.of_python import read_toml
from tests.generate.rewriting import PAGE, comparable, printed
from tests.support.pages import blocks
from tests.support.places import ROOT
from tests.support.processes import output_of

TEXT = PAGE.read_text()


@pytest.mark.exhaustive
def test_the_commands_print_what_is_shown(tmp_path: Path) -> None:
    found = printed(TEXT, tmp_path.resolve())
    assert comparable(found.encode()) == comparable(TEXT.encode())
    # What was written does what the program did, without flax.optim.
    program = (tmp_path / "train.py").read_text()
    assert "optim." not in program.replace("optax.", "") and "flaxoptim_compat" not in program
    (tmp_path / "old.py").write_text(blocks(TEXT, "py")[0])
    old = output_of(["-W", "ignore", "-m", "flaxoptim_compat", "run", "old.py"], tmp_path)
    assert output_of(["train.py"], tmp_path) == old


def test_the_settings_are_settings(tmp_path: Path) -> None:
    (text,) = blocks(TEXT, "toml")
    (tmp_path / "pyproject.toml").write_text(text)
    found = read_settings(tmp_path)
    table = read_toml(text)["tool"]["flaxoptim-compat"]
    assert found.select == tuple(table["select"]) and found.exclude == tuple(table["exclude"])
    check_codes([*found.select, *found.ignore], rule_modules(), "settings")


def test_the_hook_is_the_one_of_this_repository() -> None:
    (text,) = blocks(TEXT, "yaml")
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()
    for key in ("id", "name", "entry", "types_or", "require_serial"):
        (line,) = (line for line in text.splitlines() if line.strip(" -").startswith(f"{key}:"))
        assert line.strip(" -") in hooks
    assert "id: flaxoptim-compat-rewrite-shim\n" in hooks
