"""What holds of every rewrite: of generated programs, and of files that it is not about."""

from __future__ import annotations

import ast
import io
import sysconfig
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flaxoptim_compat
from flaxoptim_compat import compiled_steps
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.run.analysis import FileFindings, Task, analyse
from flaxoptim_compat.migrate.run.rewriting import rewritten
from tests.migrate.run.generated_programs import programs
from tests.support.drawn import DRAWN
from tests.support.legacy_program_runs import CLOSED_LOOP
from tests.support.places import ROOT
from tests.support.rewriting_folders import TARGETS
from tests.support.rewriting_texts import INSTALLED
from tests.support.side_by_side import assert_same


@settings(DRAWN, max_examples=12)
@given(programs())
def test_generated_programs_end_on_the_same_parameters(text: str) -> None:
    with compiled_steps(False):
        with flaxoptim_compat.installed():
            expected = run(text)
        assert_same(run(rewrite(text, "shim")), expected)
        assert_same(run(rewrite(text, "optax")), expected, ulps=CLOSED_LOOP)


@settings(DRAWN, max_examples=30)
@given(programs(), st.sampled_from(TARGETS))
def test_rewriting_again_changes_nothing_and_only_what_was_found_is_touched(
    text: str, target: str
) -> None:
    found = findings(text, target)
    result = rewritten(found, target).text
    ast.parse(result)
    assert rewrite(result, target) == result
    if target == "shim":
        assert without_imports(rewrite(result, "optax")) == without_imports(rewrite(text, "optax"))
    assert Counter(comments(text)) <= Counter(comments(result))
    after = iter(result.split("\n"))
    for line in untouched_lines(found):
        assert line in after, f"{line!r} is not there any more, or has another place"


def run(text: str) -> Any:
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(text, "generated.py", "exec", dont_inherit=True), names)
    return names["run"]()


def findings(text: str, target: str) -> FileFindings:
    document = Document(Path("generated.py"), text, ast.parse(text), "generated")
    # What is written is run.
    return analyse([document], {}, Task(target, releases=INSTALLED))[0]


def rewrite(text: str, target: str) -> str:
    return rewritten(findings(text, target), target).text


def comments(text: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def without_imports(text: str) -> list[str]:
    tree = ast.parse(text)
    tree.body = [each for each in tree.body if not isinstance(each, ast.Import | ast.ImportFrom)]
    return ast.unparse(tree).splitlines()


def untouched_lines(found: FileFindings) -> Iterator[str]:
    """The lines of a file that are no part of a statement in which something was found."""
    document = found.document
    places = [(each.start, each.end) for each in found.findings]
    places += [(each.start, each.end) for each in found.imports]
    touched: set[int] = set()
    for start, end in places:
        first, last = document.position(start)[0], document.position(end)[0]
        for node in ast.walk(document.tree):
            if isinstance(node, ast.stmt) and node.end_lineno is not None:
                body = getattr(node, "body", None)
                ends = body[0].lineno - 1 if body else node.end_lineno
                if node.lineno <= last and first <= ends:
                    touched |= {*range(node.lineno, ends + 1)}
        touched |= {*range(first, last + 1)}
    for number, line in enumerate(document.text.split("\n"), 1):
        if number not in touched:
            yield line


LIBRARY = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
OURS = sorted((ROOT / "flaxoptim_compat").rglob("*.py"))


@pytest.mark.parametrize("target", TARGETS)
def test_files_that_have_nothing_to_do_with_it_stay_as_they_are(target: str) -> None:
    changed = []
    for path in LIBRARY[::12]:
        text = path.read_text()
        if rewrite(text, target) != text:
            changed.append(path)
    assert not changed


@pytest.mark.parametrize("target", TARGETS)
def test_this_package_is_read_and_its_rewrite_is_python_that_stays(target: str) -> None:
    for path in OURS[::16]:
        result = rewrite(path.read_text(), target)
        assert rewrite(result, target) == result, path
