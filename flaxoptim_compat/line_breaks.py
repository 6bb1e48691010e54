"""Breaks long lines of Python at their brackets, and joins broken lines again.

The inside of brackets becomes one line, or a line for each argument if one line is still too long.
Everything else is left to a formatter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_STRING = r"""[a-zA-Z]{0,2}(?P<quote>'{3}|"{3}|'|").*?(?<!\\)(?:\\\\)*(?P=quote)"""
_WORD = r"\b(?:lambda|for|async for|if|else|and|or)\b"
_PIECE = re.compile(rf"{_STRING}|#[^\n]*|{_WORD}|[()\[\]{{}},:]", re.DOTALL)
_LINE_END = re.compile(rf"(?P<kept>{_STRING}|#[^\n]*)|(?P<comma>,?)\s*\\?\n\s*", re.DOTALL)
# The beginning of an index, not of a list.
_INDEX = re.compile(r"[\w)\]}\"']\[$")
# The head of a function or a class, with parameters.
_HEAD = re.compile(r"(?:async\s+)?(?:def|class)\b")
_OPENING, _CLOSING = "([{", ")]}"
# The words that begin a line if there are no commas.
_BEFORE = {"for", "async for", "if", "else", "and", "or"}


def in_lines(line: str, unit: str, width: int, margin: str = "") -> str:
    """A line, broken into several lines if it is too long; without the margin of the first line.

    Args:
      line: a statement or a part of a statement, without a comment.
      unit: the further indentation of the inside of brackets.
      width: the largest length of a line.
      margin: the indentation of the line.
    """
    room = width - len(margin.expandtabs(4))
    if len(line) <= room:
        return line
    groups = [(start, end) for start, end in _brackets(line) if end - start > 1]
    if not groups:
        return line
    # Broken at the last brackets with room before and behind them, at calls rather than indices.
    fitting = [(start, end) for start, end in groups if start < room >= len(line) - end]
    fitting = fitting or groups[:1]
    calls = [each for each in fitting if not _INDEX.search(line[: each[0] + 1])]
    # A head is broken at its parameters.
    start, end = groups[0] if _HEAD.match(line) else (calls or fitting)[-1]
    inside, inner = line[start + 1 : end].strip(), margin + unit
    pieces = [inside]
    if len(inner.expandtabs(4)) + len(inside) > width:
        pieces = list(_pieces(inside))
    lines = [f"{inner}{in_lines(each, unit, width, inner)}\n" for each in pieces]
    behind = in_lines(line[end:], unit, width, margin)
    return f"{line[: start + 1]}\n{''.join(lines)}{margin}{behind}"


def _brackets(line: str) -> list[tuple[int, int]]:
    """The places of the outermost pairs of brackets."""
    outermost: list[tuple[int, int]] = []
    for start, end in pairs(line):
        outermost = [*(each for each in outermost if each[0] < start), (start, end)]
    return outermost


def pairs(text: str) -> Iterator[tuple[int, int]]:
    """The places at which brackets open and close; an inner pair comes before its outer pair."""
    opened: list[int] = []
    for piece in _PIECE.finditer(text):
        if piece[0] in _OPENING:
            opened.append(piece.start())
        elif piece[0] in _CLOSING and opened:
            yield opened.pop(), piece.start()


def is_closed(line: str) -> bool:
    """True if a line closes all brackets that it opens, and no others."""
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
    """The pieces of the inside of brackets, one for each line: arguments with their commas."""
    commas: list[int] = []
    words: list[int] = []
    depth = parameters = 0
    is_loop = False
    for piece in _PIECE.finditer(inside):
        text = piece[0]
        depth += (text in _OPENING) - (text in _CLOSING)
        if depth:
            continue
        # The commas of a lambda, up to its colon, separate parameters.
        parameters += (text == "lambda") - (text == ":" and parameters > 0)
        is_loop = is_loop or text.endswith("for")
        if text == "," and not parameters and not is_loop:
            commas.append(piece.end())
        elif text in _BEFORE:
            words.append(piece.start())
    cuts = commas or words
    for start, end in zip([0, *cuts], [*cuts, len(inside)], strict=True):
        if text := inside[start:end].strip():
            yield f"{text}," if commas and not text.endswith(",") else text


def joined(text: str) -> str | None:
    """Several lines of code as one; None if there are comments, or strings of several lines."""

    def by_blank(line_end: re.Match[str]) -> str:
        if line_end["kept"] is not None:
            return line_end["kept"]
        before, behind = text[: line_end.start()][-1:], text[line_end.end() :][:1]
        if behind in _CLOSING:
            return ""
        if before in _OPENING or (behind == "." and before in _CLOSING):
            return line_end["comma"]
        return f"{line_end['comma']} "

    line = _LINE_END.sub(by_blank, text)
    return line if "\n" not in line and "#" not in comment_of(line) and same(line, text) else None


def same(first: str, second: str) -> bool:
    """True if two texts, of statements, heads of statements or arguments, have the same syntax."""
    return _dumped(first) == _dumped(second)


def _dumped(text: str) -> str:
    for start, end in (("", ""), ("", " pass"), ("if x: pass\n", " pass"), ("f(", ")")):
        try:
            return ast.dump(ast.parse(f"{start}{text}{end}"))
        except SyntaxError:
            continue
    return text
