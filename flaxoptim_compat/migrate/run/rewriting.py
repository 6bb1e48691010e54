"""The rewritten text of a file: the edits, the marks, and the comments that must stay."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flaxoptim_compat.addresses import page_of_rule
from flaxoptim_compat.migrate.editing import marks
from flaxoptim_compat.migrate.editing.edits import Edit, Span, apply_edits
from flaxoptim_compat.migrate.editing.finding import OF_OPTIMIZERS, Finding
from flaxoptim_compat.migrate.editing.layout import laid_out, margin_of, quoted_as_in, room
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.noqa import is_for_linters
from flaxoptim_compat.migrate.run.analysis import FileFindings

# A new comment, behind the number of the line above which it stands.
Comment = tuple[int, str]


class Rewritten(NamedTuple):
    """A file after its rewrite.

    Args:
      text: the new text, or the old one if nothing changes.
      done: the findings that were rewritten, by themselves or with other code.
      left: the findings that are left.
    """

    text: str
    done: list[Finding]
    left: list[Finding]


def rewritten(file: FileFindings, target: str) -> Rewritten:
    """The file after ``rewrite`` to a target.

    Args:
      file: the file with the findings of all rules.
      target: ``shim`` or ``optax``.

    Raises:
      ValueError: the result would be no Python, by a mistake of the rules; the message says where.
    """
    document = file.document
    stay = [each for each in file.findings if each.edits(target) is None]
    left = [each for each in stay if not each.works]
    done = [each for each in file.findings if _is_done(each, target)]
    edits = [edit for each in file.findings for edit in each.edits(target) or ()]
    edits += file.imports
    edits = quoted_as_in(document, edits)
    if not document.is_gin:
        edits = laid_out(document, edits)
    comments = [
        *_moved_comments(document, edits),
        *_marks(document, left),
        *dict.fromkeys(_notes(document, edits)),
    ]
    edits += _comments_as_edits(document, comments)
    text = apply_edits(document.text, edits)
    if text != document.text and not document.is_gin:
        try:
            ast.parse(text)
            # A `global` below a use parses but does not compile; so it may have been before.
            if _compiles(document.text):
                _compile(text)
        except SyntaxError as error:
            raise ValueError(f"line {error.lineno} of the result: {error.msg}") from error
    return Rewritten(text, done, left)


def _compiles(text: str) -> bool:
    try:
        _compile(text)
    except (SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _compile(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the old text may have invalid escapes
        # In a notebook, `await` may stand anywhere.
        compile(text, "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def _is_done(finding: Finding, target: str) -> bool:
    """True if a finding is rewritten; False for a use that works on the shim as it is."""
    edits = finding.edits(target)
    works = target == "shim" and finding.code.startswith(OF_OPTIMIZERS)
    return bool(edits) or (edits is not None and not works)


# Notes on code that a reader of the result may take for a mistake.
_NOTES = {
    re.compile(r"\blearning_rate=(?:.* or )?0\.0\b"): "# learning_rate: each step sets it.",
    re.compile(r"\bstatic_args="): "# static_args: these stay Python's numbers, with all digits.",
    re.compile(r"\bstep=[\w.]+\(0, [\w.]*int32\)"): "# step: an array, as it was.",
}


def _notes(document: Document, edits: Iterable[Edit]) -> Iterator[Comment]:
    """The notes on unexpected code."""
    for edit in [] if document.is_gin else edits:
        text = "".join(each for each in edit.fragments if isinstance(each, str))
        for sign, note in _NOTES.items():
            if sign.search(text):
                yield _first_line(document, edit.start), note


def _marks(document: Document, left: Iterable[Finding]) -> Iterator[Comment]:
    """The new marks that say why a statement stays."""
    wanted = (
        (_first_line(document, each.start), each.code, marks.text_of(each.code, each.reason))
        for each in left
        if each.reason
    )
    for line, code, text in dict.fromkeys(wanted):
        old = (mark.text for mark in marks.marks_in(_comments_above(document, line)))
        # An old mark may or may not have the address of a page at its end.
        if not any(each == text or each.startswith(f"{text} (http") for each in old):
            page = page_of_rule(code)
            whole = f"{text} ({page})" if page else text
            yield from ((line, each) for each in marks.written(whole, room(document, line)))


def _comments_above(document: Document, line: int) -> str:
    """The lines of comments that stand directly above a line."""
    first = line
    while first > 1 and document.lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return "".join(document.lines[first - 1 : line - 1])


def _first_line(document: Document, offset: int) -> int:
    """The line on which the statement around a place starts, where a comment can stand above."""
    line = document.position(offset)[0]
    return document.first_lines.get(line, line)


def _moved_comments(document: Document, edits: Iterable[Edit]) -> Iterator[Comment]:
    """The comments inside replaced code.

    Without those for linters, which say nothing above a line, or something about all that follows.
    """
    replaced = [each for each in edits if "#" in document.text[each.start : each.end]]
    for start, comment in _comments(document) if replaced else ():
        if is_for_linters(comment):
            continue
        around = [each for each in replaced if each.start <= start < each.end]
        if any(not _keeps(each, start) for each in around):
            yield _first_line(document, start), comment


def _comments_as_edits(document: Document, comments: Iterable[Comment]) -> Iterator[Edit]:
    """The edits that write comments above lines, one for each line."""
    texts: dict[int, str] = {}
    for line, comment in comments:
        margin = margin_of(document.lines[line - 1])
        texts[line] = f"{texts.get(line, '')}{margin}{comment}\n"
    for line, text in texts.items():
        start = document.line_starts[line - 1]
        yield Edit(start, start, (text,))


def _keeps(edit: Edit, place: int) -> bool:
    spans = [each for each in edit.fragments if isinstance(each, Span)]
    return any(part.start <= place < part.end for part in spans) or any(
        isinstance(part, str) and "#" in part for part in edit.fragments
    )


def _comments(document: Document) -> Iterator[tuple[int, str]]:
    """The offset at which each comment starts, and its text."""
    for token in tokenize.generate_tokens(io.StringIO(document.text).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            yield document.line_starts[line - 1] + column, token.string
