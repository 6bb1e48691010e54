"""What the benchmark of scan and rewrite measures, and how it stops what takes too long."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.rules import rule_modules
from flaxoptim_compat.migrate.run.examination import Task
from flaxoptim_compat.migrate.run.pipeline import run
from flaxoptim_compat.migrate.run.reports import plan_of
from flaxoptim_compat.migrate.run.settings import Settings
from tests.benchmarks import rewriting
from tests.benchmarks.measurement import Bar, Measurement
from tests.benchmarks.repositories import write_repository


def texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.py")}


@pytest.mark.parametrize("size", [10, 37, 100])
def test_a_repository_is_as_large_as_asked_for_and_whole(tmp_path: Path, size: int) -> None:
    write_repository(tmp_path / "one", size)
    files = texts(tmp_path / "one")
    assert len(files) == size
    for text in files.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("project."):
                imported = files[f"{str(node.module).replace('.', '/')}.py"]
                assert all(each.name in imported for each in node.names)
    write_repository(tmp_path / "again", size)
    assert texts(tmp_path / "again") == files
    write_repository(tmp_path / "other", size, seed=1)
    assert texts(tmp_path / "other") != files


def test_a_repository_is_one_that_rewrite_understands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_repository(tmp_path, 10)
    found = run([Path("project")], Task("", tuple(rule_modules()), Settings()), lambda *_: None)
    plan = plan_of(found)
    assert not found.unread and plan.findings == plan.shim > 20
    assert plan.optax > plan.findings / 2, plan


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> rewriting._Clock:
    monkeypatch.setattr(rewriting, "COMMANDS", {})
    return rewriting._Clock(False, tmp_path)


def rows(
    clock: rewriting._Clock, *bars: Bar, **functions: Callable[[], float]
) -> list[Measurement]:
    return list(clock.rows("setting", functions, 3, bars))


def test_what_was_stopped_is_not_begun_again_and_reaches_no_bar(clock: rewriting._Clock) -> None:
    calls: list[str] = []

    def slow() -> float:
        calls.append("slow")
        raise rewriting._Stopped(7.0)

    def quick() -> float:
        calls.append("quick")
        return 1.0

    bars = (Bar("slow", "quick", 6), Bar("slow", "quick", 8), Bar("quick", "slow", 9))
    (row,) = rows(clock, *bars, slow=slow, quick=quick)
    assert calls == ["slow", "quick", "quick", "quick"]
    assert row.samples == {"slow": [7.0] * 3, "quick": [1.0] * 3}
    # Seven is more than six; whether it stays below eight nobody knows.
    assert row.bars == bars[:1]
    assert row.note == "stopped after 300 s, and would have taken longer: slow."
    (row,) = rows(clock, Bar("quick", "other", 2), quick=quick, other=quick)
    assert row.reached(row.bars[0]) and not row.note


def test_a_command_that_hangs_is_stopped(
    clock: rewriting._Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewriting, "COMMANDS", {"scan": ["--version"], "bad": ["--nothing"]})
    monkeypatch.setattr(clock, "_starts", {"scan": 0.0, "bad": 0.0})
    assert 0 < clock.run("scan", tmp_path) < 60
    with pytest.raises(RuntimeError, match="failed"):
        clock.run("bad", tmp_path)
    clock._timeout = 0
    with pytest.raises(rewriting._Stopped):
        clock.run("scan", tmp_path)


def test_when_time_is_over_nothing_more_is_measured(clock: rewriting._Clock) -> None:
    clock._ends = 0.0
    assert rows(clock, one=lambda: 1.0) == []


def test_parsing_is_measured_by_itself(clock: rewriting._Clock, tmp_path: Path) -> None:
    write_repository(tmp_path / "ten", 10)
    assert 0 < clock.parse(tmp_path / "ten") < 1
