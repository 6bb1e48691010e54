"""``# noqa`` comments: the lines that are not reported, by rule."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Mapping

_NOQA = re.compile(
    r"#\s*noqa\b(?P<colon>\s*:\s*(?P<codes>[A-Za-z]+\d+(?:[\s,]+[A-Za-z]+\d+)*))?", re.I
)
_ALL = frozenset({""})


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


class Ignored(Mapping[int, frozenset[str]]):
    """The codes that are not reported in a file, line by line and in all of it.

    Args:
      lines: the codes of comments, by line.
      everywhere: the codes of the settings, which count for every line.
    """

    def __init__(self, lines: Mapping[int, frozenset[str]], everywhere: frozenset[str]) -> None:
        self._lines = lines
        self._everywhere = everywhere

    def __getitem__(self, line: int) -> frozenset[str]:
        return self._lines.get(line, frozenset()) | self._everywhere

    def __iter__(self) -> Iterator[int]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, line: object) -> bool:
        return bool(self._everywhere) or line in self._lines
