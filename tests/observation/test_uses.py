"""Where a run sees a program use its optimizers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.evidence import Evidence
from flaxoptim_compat.observation import places
from flaxoptim_compat.observation.places import FOLDER, Seen, Uses
from tests.support.places import DATA
from tests.support.processes import output_of

PROGRAM = DATA / "observed_programs" / "uses.py"


@pytest.fixture(scope="module")
def uses(tmp_path_factory: pytest.TempPathFactory) -> Uses:
    """What one run of the program shows."""
    folder = tmp_path_factory.mktemp("run")
    output_of(["-m", "flaxoptim_compat", "run", "--observe", str(PROGRAM)], folder)
    return places.read(folder / FOLDER)


@pytest.fixture(scope="module")
def document() -> Document:
    text = PROGRAM.read_text()
    return Document(PROGRAM, text, ast.parse(text))


def asked(document: Document, seen: Seen, uses: Uses) -> Iterator[str]:
    """What was asked at a place, as the program writes it."""
    made = frozenset(each for each in uses.seen if each.of == "made")
    if seen.of == "made":
        yield "made"
    evidence = Evidence(Uses(made | {seen}), [document])
    yield from (f"{ast.unparse(each.node)}.{seen.name}" for each in evidence.shown.values())
    if evidence.not_understood:
        yield "not understood"


def test_a_run_sees_each_use_at_its_expression(uses: Uses, document: Document) -> None:
    found: dict[int, set[str]] = {}
    for seen in uses.seen:
        assert seen.position.file == str(PROGRAM)
        for each in asked(document, seen, uses):
            found.setdefault(seen.position.end_line or seen.position.line, set()).add(each)
    expected = {
        number: {each.strip() for each in comment[1].split(";")}
        for number, line in enumerate(document.lines, 1)
        if (comment := re.search(r"  # (.+)", line))
    }
    assert found == expected


def test_what_comes_out_of_jit_is_the_optimizer_that_went_in(
    uses: Uses, document: Document
) -> None:
    evidence = Evidence(uses, [document])
    made: dict[str, set[str]] = {}
    for (node, of), shown in evidence.shown.items():
        if of == "optimizer":
            made.setdefault(ast.unparse(node), set()).update(
                (ast.unparse(call) for call, _ in shown.made)
            )
    # Equal definitions of two lines are two, though both went through the same function.
    assert made["optimizer"] == {"optim.Adam(0.1)", "make()"}
    assert made["self.first"] == made["é"] == {"optim.Adam(0.1)"}
    assert made["held.optimizer"] == {"optim.Momentum(0.1)"}
    assert made["carry"] == {"optim.MultiOptimizer(part)"}


def test_a_file_that_has_changed_since_is_not_what_was_run(uses: Uses) -> None:
    content = PROGRAM.read_bytes()
    assert uses.is_of(str(PROGRAM), places.digest(content))
    assert not uses.is_of(str(PROGRAM), places.digest(content + b"#"))


def test_what_is_no_line_of_a_run_is_passed_over(tmp_path: Path) -> None:
    content = b'no json\n{}\n["seen"]\n["seen", [1], "made"]\n["file", "a.py"]\nhalf a li'
    (tmp_path / "1.uses").write_bytes(content)
    assert places.read(tmp_path) == Uses()
