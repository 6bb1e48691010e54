"""What ``flaxoptim-compat scan`` prints for people: what to do first, and what was found."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.formats.as_text import as_text
from flaxoptim_compat.migrate.program.source_text import Place
from flaxoptim_compat.migrate.rules import rule_modules
from flaxoptim_compat.migrate.run.reports import (
    FileReport,
    ReportedFinding,
    RunReport,
    Spot,
    UnitReport,
    migration_plan,
)
from tests.support.rewriting_folders import MAP, Scan
from tests.support.terminal import on_a_terminal

RULES = {code: each.rule for code, each in rule_modules().items()}


def place(line: int, cell: int = 0) -> Place:
    return Place(line, 1, line, 2, cell, line)


def noted(line: int, optax: bool = True, reason: str = "", cause: str = "") -> ReportedFinding:
    return ReportedFinding("FOC201", place(line), "what", "instead", True, optax, reason, "", cause)


def reported(folder: Path, **files: list[ReportedFinding]) -> RunReport:
    reports = [
        FileReport(folder / f"{name}.py", findings=findings) for name, findings in files.items()
    ]
    return RunReport(reports, [], [], [])


def text(report: RunReport) -> list[str]:
    return [line for line, _ in as_text(report, RULES, "flaxoptim-compat rewrite .")]


def test_what_stays_because_of_another_place_counts_with_it(tmp_path: Path) -> None:
    why, other = "It is given away.", "Its class is unknown."
    report = reported(
        tmp_path,
        a=[noted(1, False, cause=why), noted(2, False, why), noted(3)],
        b=[noted(1, False, other), noted(2, False, cause=why), noted(3, False)],
        c=[noted(1)],
        d=[noted(1), noted(2)],
        e=[],
    )
    plan = migration_plan(report)
    assert (plan.findings, plan.shim, plan.optax) == (9, 9, 4)
    assert plan.shim_leaves is None
    assert [each.name for each in plan.begin_with] == ["d.py", "c.py"]
    assert [(each.number, each.text, each.first.path.name) for each in plan.reasons] == [
        (3, why, "a.py"),
        (1, other, "b.py"),
    ]
    assert plan.reasons[0].first.place == place(2)


def test_files_that_are_left_alone_are_a_reason(tmp_path: Path) -> None:
    report = reported(tmp_path, a=[noted(1), noted(2)])
    report.files[0].off_limits = "the file is read-only"
    plan = migration_plan(report)
    assert (plan.shim, plan.optax, plan.begin_with) == (0, 0, [])
    assert plan.shim_leaves == (report.files[0].path, place(1))
    assert [(each.number, each.text) for each in plan.reasons] == [(2, "the file is read-only")]


def many(names: Iterable[str]) -> list[ReportedFinding]:
    """Findings of all kinds, each of which is another one."""
    codes = list(RULES)
    return [
        ReportedFinding(
            codes[number % len(codes)], place(number + 1), name, "?", True, False, "", ""
        )
        for number, name in enumerate(names)
    ]


def test_a_huge_repository_takes_two_screens(tmp_path: Path) -> None:
    found = many(f"name {number}" for number in range(60))
    report = reported(tmp_path, **{f"file{number}": found for number in range(600)})
    for number, file in enumerate(report.files):
        file.unknown = [(place(9), "it may be anything")]
        file.findings = [
            each._replace(reason=f"Reason {number % 20}. " * 8) for each in file.findings
        ]
        spot = Spot(file.path, place(number + 1))
        file.units = [UnitReport([spot, spot], [spot], "It is given away. " * 8, [spot])]
    lines = [line.replace(str(tmp_path), "project") for line in text(report)]
    assert lines[:2] == [
        "36,000 findings in 600 of 600 files.",
        "600 names not understood: see the end.",
    ]
    assert f"and {len(RULES) - 8} more, which --statistics lists" in lines
    assert "and 590 more, which --statistics lists" in lines
    assert "and 595 more, which --format concise lists" in lines
    assert len(lines) < 80 and max(map(len, lines)) <= 100


def test_findings_that_are_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    five = [noted(number) for number in (3, 3, 4, 8, 9, 11)]
    two = [noted(7)._replace(code="FOC202", what=what) for what in ("one", "two")]
    three = [
        noted(number)._replace(code="FOC203", what=f"thing {number}") for number in (30, 20, 25)
    ]
    lines = text(reported(Path(), a=[*five, *two, *three]))
    assert lines[lines.index("a.py: 11 findings") + 1 :][:5] == [
        "  lines 3, 4, 8, +2  FOC201  [*]  what: instead",
        "  line 7             FOC202  [*]  one: instead",
        "  line 7             FOC202  [*]  two: instead",
        "  lines 20, 25, 30   FOC203  [*]  thing 30: instead, and 2 others like it",
        "",
    ]


def test_what_nobody_rewrites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    left = noted(4, False)._replace(code="FOC151", shim=False)
    lines = text(reported(Path(), a=[noted(1)._replace(code="FOC151"), left, left]))
    assert lines[2] == "rewrite --to shim deals with 1 and leaves 2: a.py:4 and 1 more."
    lines = text(reported(Path(), a=[left]))
    assert lines[2:5] == [
        "rewrite --to shim has nothing to do here.",
        "rewrite --to optax deals with none.",
        "",
    ]
    assert not any("flaxoptim-compat rewrite" in line for line in lines)
    lines = text(reported(Path(), a=[noted(1)._replace(code="FOC151")]))
    assert lines[2] == "rewrite --to shim deals with it."


def test_after_the_first_rewrite_the_second_is_next(scan: Scan) -> None:
    program = "from flaxoptim_compat import optim\noptim.Adam(0.1).create({})\n"
    _, lines, _ = scan(a=program)
    assert lines[2:12] == [
        "rewrite --to shim has nothing to do here.",
        "rewrite --to optax deals with all 2.",
        "1 of 1 optimizer becomes a TrainState, 0 stay.",
        "",
        "Begin with this command; it shows a patch, and --write changes the files:",
        "  flaxoptim-compat rewrite . --to optax",
        "Then move the optimizers to optax:",
        "  flaxoptim-compat rewrite . --to optax --write --verify COMMAND",
        "COMMAND is a training or the tests, such as 'pytest -q'. The run shows where the",
        "optimizers are, and that all numbers stay the same.",
    ]


def test_what_stays_and_why(scan: Scan) -> None:
    makes = "from flax import optim\ndef make(p):\n    return optim.Adam(0.1).create(p)\n"
    uses = (
        "from unknown import send\nfrom a import make\n"
        "def train(p, g):\n    o = make(p)\n    {}\n    return o.apply_gradient(g).target\n"
    )
    _, lines, _ = scan(a=makes, b=uses.format("send(type(o))"), c="from flax import optim\n")
    assert lines[:8] == [
        "8 findings in 3 of 3 files.",
        "",
        "rewrite --to shim deals with all 8.",
        "rewrite --to optax deals with 3 and leaves 5, most for these reasons:",
        "  5  `type(o)` asks for the class, which becomes another one. (b.py:5)",
        "0 of 1 optimizer becomes a TrainState, 1 stays. b.py:5 holds it back.",
        "rewrite --to optax leaves nothing in c.py.",
        "",
    ]
    _, lines, _ = scan(b=uses.format("send(o)"))
    assert lines[2:5] == [
        "rewrite --to shim deals with all 8.",
        "rewrite --to optax deals with 6; 2 work as they are.",
        "1 of 1 optimizer moves: 0 to TrainState, 1 to DualTrainState.",
    ]


def test_the_line_that_holds_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = reported(Path(), a=[noted(1, False, "why")], b=[noted(2)])
    spots = [Spot(Path("a.py"), place(number)) for number in range(9)]
    report.files[0].units = [
        UnitReport(spots[:1], spots[1:2], "why", []),
        UnitReport(spots[2:5], spots[5:7], "why", spots[7:8]),
    ]
    lines = text(report)
    assert lines[5:7] == [
        "0 of 4 optimizers become TrainStates, 4 stay. a.py:5 holds 3 of them back, 1",
        "other line the others; a.py:7, which may use any of these, keeps them together.",
    ]


def test_colours_on_a_terminal_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Old versions of rich take it as set when it is empty.
    monkeypatch.delenv("NO_COLOR", raising=False)
    (tmp_path / "a.py").write_text(MAP)
    usual = {"TERM": "xterm", "COLORTERM": ""}
    heading, command = b"\033[1m1 finding in 1 of 1 file.\033[0m", b"\033[36m  flaxoptim-compat"
    status, shown, _ = on_a_terminal(["scan", "."], tmp_path, "stdout", usual)
    assert status == 1 and heading in shown and command in shown
    _, shown, _ = on_a_terminal(["scan", "."], tmp_path, "stdout", {**usual, "NO_COLOR": "1"})
    assert heading in shown and command not in shown
    _, shown, _ = on_a_terminal(["scan", "."], tmp_path, "stdout", {**usual, "TERM": "dumb"})
    assert b"\033" not in shown
    _, _, shown = on_a_terminal(["scan", "."], tmp_path, "stderr", usual)
    assert b"\033" not in shown
