"""Lines of Python that are too long, broken at their brackets, and one line of what was broken.

What is in the brackets takes one line, or a line for each argument where it is still too long. All
else is left to a formatter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_STRING = r"""[a-zA-Z]{0,2}(?P<quote>'{3}|"{3}|'|").*?(?<!\\)(?:\\\\)*(?P=quote)"""
_WORD = r"\b(?:lambda|for|async for|if|else|and|or)\b"
_PIECE = re.compile(rf"{_STRING}|#[^\n]*|{_WORD}|[()\[\]{{}},:]", re.DOTALL)
_LINE_END = re.compile(rf"(?P<kept>{_STRING}|#[^\n]*)|(?P<comma>,?)\s*\\?\n\s*", re.DOTALL)
# An index, not a list; and what has parameters.
_INDEX = re.compile(r"[\w)\]}\"']\[$")
_HEAD = re.compile(r"(?:async\s+)?(?:def|class)\b")
_OPENING, _CLOSING = "([{", ")]}"
# What begins a line where there are no commas.
_BEFORE = {"for", "async for", "if", "else", "and", "or"}


def in_lines(line: str, unit: str, width: int, margin: str = "") -> str:
    """A line, and those that it takes where it is too long; without the margin of the first.

    Args:
      line: a statement or a part of one, without a comment.
      unit: by how much what is in brackets is indented further.
      width: how long lines may be.
      margin: what the line is indented by.
    """
    room = width - len(margin.expandtabs(4))
    if len(line) <= room:
        return line
    groups = [(start, end) for start, end in _brackets(line) if end - start > 1]
    if not groups:
        return line
    # At the last ones before which, and behind which, there is room, rather calls than indices.
    found = [(start, end) for start, end in groups if start < room >= len(line) - end] or groups[:1]
    calls = [each for each in found if not _INDEX.search(line[: each[0] + 1])]
    # Of a head, at its parameters.
    start, end = groups[0] if _HEAD.match(line) else (calls or found)[-1]
    inside, inner = line[start + 1 : end].strip(), margin + unit
    pieces = [inside]
    if len(inner.expandtabs(4)) + len(inside) > width:
        pieces = list(_pieces(inside))
    lines = [f"{inner}{in_lines(each, unit, width, inner)}\n" for each in pieces]
    behind = in_lines(line[end:], unit, width, margin)
    return f"{line[: start + 1]}\n{''.join(lines)}{margin}{behind}"


def _brackets(line: str) -> list[tuple[int, int]]:
    """Where the brackets stand that no others are around."""
    found: list[tuple[int, int]] = []
    for start, end in pairs(line):
        found = [*(each for each in found if each[0] < start), (start, end)]
    return found


def pairs(text: str) -> Iterator[tuple[int, int]]:
    """Where brackets open and close, those inside before those outside."""
    opened: list[int] = []
    for piece in _PIECE.finditer(text):
        if piece[0] in _OPENING:
            opened.append(piece.start())
        elif piece[0] in _CLOSING and opened:
            yield opened.pop(), piece.start()


def is_closed(line: str) -> bool:
    """True if each bracket of a line is closed in it, and no other one."""
    depth = 0
    for piece in _PIECE.finditer(line):
        depth += (piece[0] in _OPENING) - (piece[0] in _CLOSING)
        if depth < 0:
            return False
    return not depth


def comment_of(line: str) -> str:
    """The comment at the end of a line, with the blanks before it."""
    pieces = (each for each in _PIECE.finditer(line) if each[0].startswith("#"))
    start = next((each.start() for each in pieces), len(line))
    return line[len(line[:start].rstrip()) :]


def _pieces(inside: str) -> Iterator[str]:
    """The inside of brackets, in the pieces that get a line each: arguments with their commas."""
    commas: list[int] = []
    others: list[int] = []
    depth = parameters = 0
    is_loop = False
    for piece in _PIECE.finditer(inside):
        text = piece[0]
        depth += (text in _OPENING) - (text in _CLOSING)
        if depth:
            continue
        # Up to its colon the commas of a lambda are between parameters.
        parameters += (text == "lambda") - (text == ":" and parameters > 0)
        is_loop = is_loop or text.endswith("for")
        if text == "," and not parameters and not is_loop:
            commas.append(piece.end())
        elif text in _BEFORE:
            others.append(piece.start())
    cuts = commas or others
    for start, end in zip([0, *cuts], [*cuts, len(inside)], strict=True):
        if text := inside[start:end].strip():
            yield f"{text}," if commas and not text.endswith(",") else text


def joined(text: str) -> str | None:
    """The one line that several lines of code say the same as.

    None if there are comments in them, or strings of several lines.
    """

    def by_blank(found: re.Match[str]) -> str:
        if found["kept"] is not None:
            return found["kept"]
        before, behind = text[: found.start()][-1:], text[found.end() :][:1]
        if behind in _CLOSING:
            return ""
        if before in _OPENING or (behind == "." and before in _CLOSING):
            return found["comma"]
        return f"{found['comma']} "

    line = _LINE_END.sub(by_blank, text)
    return line if "\n" not in line and "#" not in comment_of(line) and same(line, text) else None


def same(one: str, other: str) -> bool:
    """True if two texts of a statement, of the head of one or of arguments say the same."""
    return _dumped(one) == _dumped(other)


def _dumped(text: str) -> str:
    for start, end in (("", ""), ("", " pass"), ("if x: pass\n", " pass"), ("f(", ")")):
        try:
            return ast.dump(ast.parse(f"{start}{text}{end}"))
        except SyntaxError:
            continue
    return text
