"""Strings in what is written have the quotes that most strings of the file have."""

from __future__ import annotations

import ast
import collections
import re
from collections.abc import Iterable

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.program.document import Document

_DOUBLE = re.compile(r'"([^"\n]*)"')
# With these in it, a text may have quotes that begin or end no string.
_UNCLEAR = re.compile('[\'#\\\\]|"""')


def quoted_as_in(document: Document, edits: Iterable[Edit]) -> list[Edit]:
    """The edits with the quotes of the file; what is written without it has double ones.

    Args:
      document: the file.
      edits: of any rule.
    """
    found = list(edits)
    if not any(map(_has_strings, found)) or not _prefers_single(document):
        return found
    return [_with_single(each) if _has_strings(each) else each for each in found]


def _has_strings(edit: Edit) -> bool:
    return any(isinstance(each, str) and '"' in each for each in edit.fragments)


def _prefers_single(document: Document) -> bool:
    quotes: collections.Counter[str] = collections.Counter()
    for node in document.of_kind(ast.Constant):
        if isinstance(node.value, str):
            begin = document.span(node)[0]
            if document.text[begin : begin + 3] not in ('"""', "'''"):
                quotes[document.text[begin]] += 1
    return quotes["'"] > quotes['"']


def _with_single(edit: Edit) -> Edit:
    fragments = edit.fragments
    texts = [each for each in fragments if isinstance(each, str)]
    # A string may have spans of the old text in it.
    if any(_UNCLEAR.search(each) or each.count('"') % 2 for each in texts):
        return edit
    changed = tuple(
        _DOUBLE.sub(r"'\1'", each) if isinstance(each, str) else each for each in fragments
    )
    return edit._replace(fragments=changed)
