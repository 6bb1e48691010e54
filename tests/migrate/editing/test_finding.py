"""What rules find and change does not depend on the order in which they are asked."""

from __future__ import annotations

import ast
import dataclasses
import random
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Change, Finding, settled
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules import rule_modules
from flaxoptim_compat.migrate.run import analysis
from flaxoptim_compat.migrate.run.analysis import FileFindings, Task
from tests.migrate.rules import removed_behaviour_texts, removed_name_texts
from tests.support.places import ROOT

DATA = ROOT / "tests" / "data"
# Every file and every folder in them is a program.
PROGRAMS = sorted(
    path
    for folder in (
        "large_programs",
        "legacy_programs",
        "new_optimizer",
        "wild_programs",
    )
    for path in (DATA / folder).iterdir()
    if path.suffix == ".py" or (path.is_dir() and list(path.glob("*.py")))
)
TEXTS = {**removed_name_texts.FIXES, **removed_behaviour_texts.FIXES}


def orders() -> list[dict[str, Any]]:
    """The rules in the order of their codes, backwards, and as they come."""
    codes = list(rule_modules())
    shuffled = [random.Random(seed).sample(codes, len(codes)) for seed in range(1)]
    return [
        {code: rule_modules()[code] for code in order} for order in (codes, codes[::-1], *shuffled)
    ]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[FileFindings]:
    """Has each file that is analysed read by the rules in all orders; the results of the first."""
    genuine = analysis._findings
    results: list[FileFindings] = []

    def in_all_orders(reading: Reading, needed: Collection[str], target: str) -> FileFindings:
        found = []
        for order in orders():
            monkeypatch.setattr(analysis, "rule_modules", lambda order=order: order)
            file = genuine(reading, needed, target)
            other = {"shim": "optax", "optax": "shim"}[target]
            settled = [dataclasses.replace(each, **{other: ()}) for each in file.findings]
            found.append(file._replace(findings=settled))
        for other in found[1:]:
            assert other == found[0]
        results.append(found[0])
        return found[0]

    monkeypatch.setattr(analysis, "_findings", in_all_orders)
    return results


@pytest.mark.parametrize("target", ["shim", "optax"])
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.relative_to(DATA).as_posix())
def test_programs(path: Path, target: str, compared: list[FileFindings]) -> None:
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    root = path if path.is_dir() else path.parent
    documents = [
        Document(
            each,
            each.read_text(),
            ast.parse(each.read_text()),
            ".".join(each.relative_to(root).with_suffix("").parts).removesuffix(".__init__"),
            each.name == "__init__.py",
        )
        for each in files
    ]
    assert analysis.analyse(documents, {}, Task(target)) == compared
    assert len(compared) == len(files)


@pytest.mark.parametrize("target", ["shim", "optax"])
def test_texts_without_optimizers(target: str, compared: list[FileFindings]) -> None:
    for before, _ in TEXTS.values():
        document = Document(Path("a.py"), before, ast.parse(before))
        analysis.analyse([document], {}, Task(target), without_optimizers=[document])
    assert len(compared) == len(TEXTS) > 25
    assert any(each.findings for each in compared)


def settled_text(*findings: Finding, text: str = "a.b\n") -> list[tuple[Edit, ...] | None]:
    document = Document(Path("a.py"), text, ast.parse(text))
    plan = ImportPlan(document, Names(document))
    return [each.edits("shim") for each in settled(findings, "shim", plan)]


def test_what_another_rule_writes_anew_is_left_to_it() -> None:
    tree = ast.parse("a.b\n")
    node = tree.body[0].value  # type: ignore[attr-defined]
    edit = Edit(0, 3, ("c",))
    whole = Finding("FOC202", 0, 3, "", "", shim=Change((edit,), drops=(node,)))
    name = Finding("FOC102", 0, 3, "", "", shim=Change((edit,), drops=(node,), unless=node))
    assert settled_text(whole, name) == [(edit,), ()]
    assert settled_text(name, whole) == [(), (edit,)]
    # Nobody leaves a name to itself, and of two that stand for the same the first has it.
    assert settled_text(name) == [(edit,)]
    assert settled_text(name, name) == [(edit,), ()]
