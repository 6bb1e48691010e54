"""What ``flaxoptim-compat scan`` prints for people: its statistics, and the plan at its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from flaxoptim_compat.migrate.formats.as_text import as_lines
from flaxoptim_compat.migrate.program.source_text import Place
from flaxoptim_compat.migrate.run.plan import Plan, Reason, plan_of
from flaxoptim_compat.migrate.run.reports import FileReport, Noted, Report
from tests.support.found_files import found
from tests.support.scanned_folders import MAP, Scan


def test_statistics(scan: Scan) -> None:
    status, lines = scan("--statistics", a=MAP, b=MAP * 2 + "jax.tree_leaves(x)\n", c="1")
    assert status == 1
    assert lines[:4] == [
        "4  FOC151 removed-jax-names (--to shim: 4, --to optax: 4)",
        "",
        "b.py: 3 findings (3 FOC151)",
        "a.py: 1 finding (1 FOC151)",
    ]


def test_statistics_are_text(scan: Scan, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        scan("--statistics", "--format", "json")
    assert caught.value.code == 2
    assert "--statistics is text" in capsys.readouterr().err


def place(line: int, cell: int = 0) -> Place:
    return Place(line, 1, line, 2, cell, line)


def noted(line: int, optax: bool = True, reason: str = "", cause: str = "") -> Noted:
    return Noted("FOC201", place(line), "what", "instead", True, optax, reason, "", cause)


def reported(folder: Path, **files: list[Noted]) -> Report:
    reports = []
    for name, findings in files.items():
        path = folder / f"{name}.py"
        path.touch()
        reports.append(FileReport(found(path).files[0], findings=findings))
    return Report(reports, [], [], [])


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
    plan = plan_of(report)
    assert plan[:4] == (9, 4, 9, 4)
    assert [each.name for each in plan.begin_with] == ["d.py", "c.py"]
    assert [(each.number, each.text, each.path.name) for each in plan.reasons] == [
        (3, why, "a.py"),
        (1, other, "b.py"),
    ]
    assert plan.reasons[0].place == place(2)


def test_files_that_are_left_alone_are_a_reason(tmp_path: Path) -> None:
    report = reported(tmp_path, a=[noted(1), noted(2)])
    report.files[0].off_limits = "it is read-only"
    plan = plan_of(report)
    assert (plan.shim, plan.optax, plan.begin_with) == (0, 0, [])
    assert [(each.number, each.text) for each in plan.reasons] == [(2, "it is read-only")]


def test_nothing_is_said_of_nothing(tmp_path: Path) -> None:
    assert list(as_lines(plan_of(reported(tmp_path, a=[])))) == []


def test_the_lines_fit(tmp_path: Path) -> None:
    paths = [Path("a_folder/" * number, "x" * 7 * number + ".py") for number in range(1, 9)]
    reasons = [
        Reason(10**number, "A reason. " * 3 * number, path, place(number, number % 2))
        for number, path in enumerate(paths[:5])
    ]
    for begin_with in ([], paths[:1], paths[:3], paths, paths[::-1]):
        lines = list(as_lines(Plan(12345, 678, 12000, 1000, 0, [], begin_with, reasons)))
        assert len(lines) <= 12
        assert max(map(len, lines)) <= 80
    assert lines[:3] == [
        "",
        "A plan for 12,345 findings in 678 files:",
        "1. rewrite --to shim, for everything at once, deals with 12,000.",
    ]


def test_the_end_of_a_scan(scan: Scan) -> None:
    makes = "from flax import optim\ndef make(p):\n    return optim.Adam(0.1).create(p)\n"
    uses = (
        "from unknown import send\nfrom a import make\n"
        "def train(p, g):\n    o = make(p)\n    send(o)\n    return o.apply_gradient(g).target\n"
    )
    _, lines = scan(a=makes, b=uses, c="from flax import optim\n")
    plan = lines[lines.index("") :]
    assert plan[1:] == [
        "A plan for 8 findings in 3 files:",
        "1. rewrite --to shim, for everything at once, deals with 8.",
        "2. rewrite --to optax, folder by folder, deals with 3.",
        "   Of 1 optimizer 0 become TrainStates, 1 stays. What holds them:",
        "   1  It is given to unknown.send, which may expect an Optimizer. (b.py:5)",
        "   Begin where nothing stays: c.py",
        "3. The rest is yours. These reasons keep most of it from --to optax:",
        "   5  It is given to unknown.send, which may expect an Optimizer. (b.py:5)",
    ]
    _, lines = scan("--statistics")
    assert not any("A plan" in line for line in lines)
