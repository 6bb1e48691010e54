"""What the benchmark of scan and rewrite measures."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.run.analysis import Task
from flaxoptim_compat.migrate.run.pipeline import run
from flaxoptim_compat.migrate.run.reports import migration_plan
from tests.benchmarks import rewriting
from tests.benchmarks.repositories import write_repository


def texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.py")}


def test_a_repository_is_as_large_as_asked_for_and_whole(tmp_path: Path) -> None:
    write_repository(tmp_path / "one", 37)
    files = texts(tmp_path / "one")
    assert len(files) == 37
    for text in files.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("project."):
                imported = files[f"{str(node.module).replace('.', '/')}.py"]
                assert all(each.name in imported for each in node.names)
    write_repository(tmp_path / "again", 37)
    assert texts(tmp_path / "again") == files
    write_repository(tmp_path / "other", 37, seed=1)
    assert texts(tmp_path / "other") != files


def test_a_repository_is_one_that_rewrite_understands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_repository(tmp_path, 10)
    found = run([Path("project")], Task(), lambda *_: None)
    plan = migration_plan(found)
    assert not found.unread and plan.findings == plan.shim > 20
    assert plan.optax > plan.findings / 2, plan


def test_a_row_has_all_of_each_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "COMMANDS", {"scan": ["scan"]})
    write_repository(tmp_path / "ten", 10)
    clock = rewriting._Clock(False, tmp_path)
    functions = {
        "parse": lambda: clock.parse(tmp_path / "ten"),
        "scan": lambda: clock.run("scan", tmp_path / "ten"),
    }
    (row,) = clock.rows("ten files", functions, 2, ())
    assert all(len(times) == 2 and min(times) > 0 for times in row.samples.values())
    monkeypatch.setattr(rewriting, "COMMANDS", {"scan": ["--nothing"]})
    with pytest.raises(RuntimeError, match="failed"):
        clock.run("scan", tmp_path)
