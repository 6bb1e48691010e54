"""Comments for linters, and ``# noqa`` among them: the lines that are not reported, by rule."""

from __future__ import annotations

import dataclasses
import io
import re
import tokenize
from collections.abc import Iterator, Mapping

_NOQA = re.compile(
    r"#\s*noqa\b(?P<colon>\s*:\s*(?P<codes>[A-Za-z]+\d+(?:[\s,]+[A-Za-z]+\d+)*))?", re.I
)
_ALL = frozenset({""})
_FOR_LINTERS = re.compile(
    r"#\s*(noqa\b|(type|pyright):\s*ignore|(pylint|pytype):\s*disable|(fmt|isort):\s*skip"
    r"|pragma:\s*no\b)",
    re.I,
)


def is_for_linters(comment: str) -> bool:
    """True if a comment tells a linter what to allow on the same line."""
    return _FOR_LINTERS.match(comment) is not None


def ignored_lines(text: str) -> dict[int, frozenset[str]]:
    """The codes that are not reported, by line; "" stands for all.

    A comment counts for its own line. At the end of a statement of several lines, or of the header
    of a compound one, it counts for all of these lines.

    Args:
      text: Python.
    """
    if "noqa" not in text.lower():
        return {}
    ignored: dict[int, frozenset[str]] = {}
    for first, last, codes in _comments(text):
        for line in range(first, last + 1):
            ignored[line] = ignored.get(line, frozenset()) | codes
    return ignored


def _comments(text: str) -> Iterator[tuple[int, int, frozenset[str]]]:
    """The first and the last line for which each comment counts, and its codes."""
    first = 0
    waiting: list[tuple[int, frozenset[str]]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            codes = _codes(token.string)
            if codes:
                waiting.append((token.start[0], codes))
        elif token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            last = token.start[0]
            for line, codes in waiting:
                yield first if first and line == last else line, line, codes
            first, waiting = 0, []
        elif not first and token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            first = token.start[0]


def _codes(comment: str) -> frozenset[str]:
    match = _NOQA.search(comment)
    if match is None:
        return frozenset()
    if match["codes"] is None:
        # For ruff too, a colon with other text behind it is no bare noqa.
        return frozenset() if comment[match.end() :].lstrip().startswith(":") else _ALL
    return frozenset(re.split(r"[\s,]+", match["codes"].upper()))


@dataclasses.dataclass(frozen=True)
class Ignored:
    """The codes that are not reported in a file; "" stands for all.

    Args:
      lines: the codes of comments, by line.
      everywhere: the codes of the settings, which count for every line.
    """

    lines: Mapping[int, frozenset[str]] = dataclasses.field(default_factory=dict)
    everywhere: frozenset[str] = frozenset()

    def has(self, code: str, line: int) -> bool:
        """True if no finding of this code is wanted on this line."""
        return not {code, ""}.isdisjoint(self.everywhere | self.lines.get(line, frozenset()))


NOTHING_IGNORED = Ignored()
