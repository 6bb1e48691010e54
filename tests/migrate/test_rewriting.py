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

import jax
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import flaxoptim_compat
from flaxoptim_compat.migrate.analysis import FileFindings, analyse
from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.edits import Edit, Span, apply_edits
from flaxoptim_compat.migrate.rewriting import rewritten
from tests.support.generated_programs import programs
from tests.support.legacy_program_runs import CLOSED_LOOP
from tests.support.places import ROOT
from tests.support.rewriting_folders import TARGETS
from tests.support.side_by_side import assert_same

# The same programs in every run: a mistake is found where it is made.
DRAWN = settings(
    deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@settings(DRAWN, max_examples=25)
@given(programs())
def test_generated_programs_end_on_the_same_parameters(text: str) -> None:
    with jax.disable_jit():
        with flaxoptim_compat.installed():
            expected = run(text)
        assert_same(run(rewrite(text, "shim")), expected)
        assert_same(run(rewrite(text, "optax")), expected, ulps=CLOSED_LOOP)


@settings(DRAWN, max_examples=150)
@given(programs(), st.sampled_from(TARGETS))
def test_rewriting_again_changes_nothing_and_only_what_was_found_is_touched(
    text: str, target: str
) -> None:
    found = findings(text)
    result = rewritten(found, target).text
    ast.parse(result)
    assert rewrite(result, target) == result
    if target == "shim":
        assert without_imports(rewrite(result, "optax")) == without_imports(rewrite(text, "optax"))
    assert Counter(comments(text)) <= Counter(comments(result))
    after = iter(result.split("\n"))
    for line in untouched_lines(found, target):
        assert line in after, f"{line!r} is not there any more, or has another place"


def run(text: str) -> Any:
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(text, "generated.py", "exec", dont_inherit=True), names)
    return names["run"]()


def findings(text: str) -> FileFindings:
    document = Document(Path("generated.py"), text, ast.parse(text), "generated")
    return analyse([document], {}, writes=True)[0]


def rewrite(text: str, target: str) -> str:
    return rewritten(findings(text), target).text


def comments(text: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def without_imports(text: str) -> list[str]:
    tree = ast.parse(text)
    tree.body = [each for each in tree.body if not isinstance(each, ast.Import | ast.ImportFrom)]
    return ast.unparse(tree).splitlines()


def untouched_lines(found: FileFindings, target: str) -> Iterator[str]:
    """The lines of a file that are no part of a statement in which something was found."""
    document = found.document
    places = [(each.start, each.end) for each in found.findings]
    places += [(each.start, each.end) for each in found.imports[target]]
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
    for path in LIBRARY[::6]:
        text = path.read_text()
        if rewrite(text, target) != text:
            changed.append(path)
    assert not changed


@pytest.mark.parametrize("target", TARGETS)
def test_this_package_is_read_and_its_rewrite_is_python_that_stays(target: str) -> None:
    for path in OURS[::4]:
        result = rewrite(path.read_text(), target)
        assert rewrite(result, target) == result, path


PIECES = st.text(alphabet="ab(\n", max_size=4)


@st.composite
def texts_with_edits(draw: st.DrawFn) -> tuple[str, list[Edit], str]:
    """A text, edits that are beside each other, and the text that they make."""
    text = draw(st.text(alphabet="xyz\n", max_size=20))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    edits, expected, done = [], "", 0
    for start, end in zip(cuts[::2], cuts[1::2], strict=False):
        parts = tuple(draw(st.lists(PIECES, max_size=2)))
        edits.append(Edit(start, end, parts))
        expected += text[done:start] + "".join(parts)
        done = end
    return text, edits, expected + text[done:]


@settings(DRAWN, max_examples=200)
@given(texts_with_edits(), st.randoms(use_true_random=False))
def test_edits_beside_each_other_are_made_in_any_order(
    drawn: tuple[str, list[Edit], str], random: Any
) -> None:
    text, edits, expected = drawn
    shuffled = [*edits, *edits[:1]]
    random.shuffle(shuffled)
    assert apply_edits(text, shuffled) == expected
    assert apply_edits(text, []) == text


@settings(DRAWN, max_examples=200)
@given(texts_with_edits(), PIECES, PIECES)
def test_an_edit_around_others_keeps_what_they_make(
    drawn: tuple[str, list[Edit], str], before: str, after: str
) -> None:
    text, edits, expected = drawn
    assume(text and all((each.start, each.end) != (0, len(text)) for each in edits))
    whole = Span(0, len(text))
    around = Edit(0, len(text), (before, whole, after, whole))
    assert apply_edits(text, [*edits, around]) == before + expected + after + expected
    gone = Edit(0, len(text), (before,))
    assert apply_edits(text, [gone, *edits]) == before


@settings(DRAWN, max_examples=50)
@given(st.integers(0, 3), st.integers(1, 3), st.integers(1, 3))
def test_edits_that_overlap_are_refused(start: int, first: int, second: int) -> None:
    overlapping = [
        Edit(start, start + first + 1, ("a",)),
        Edit(start + first, start + first + 1 + second, ("b",)),
    ]
    with pytest.raises(ValueError, match="Two edits overlap"):
        apply_edits("x" * 12, overlapping)
    same = [Edit(start, start + first, ("a",)), Edit(start, start + first, ("b",))]
    with pytest.raises(ValueError, match="Two edits change"):
        apply_edits("x" * 12, same)
