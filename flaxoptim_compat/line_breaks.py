"""Lines of Python as formatters break them, and one line of what they broke.

What fits is one line. What does not is broken at its last brackets, whose content takes one line,
or a line for each of its elements; so it is done with these in turn.
"""

from __future__ import annotations

import ast
import bisect
import io
import itertools
import keyword
import re
import tokenize
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
# What lines are broken at, what binds least first: after a comma, and before all others.
_FOR, _COMMA, _IF, _LOGIC, _STRING, _COMPARED, _SUM, _PRODUCT, _DOT = range(9, 0, -1)
_DELIMITERS = {
    **dict.fromkeys(("for", "async"), _FOR),
    ",": _COMMA,
    **dict.fromkeys(("if", "else"), _IF),
    **dict.fromkeys(("and", "or"), _LOGIC),
    **dict.fromkeys(("<", ">", "==", "!=", "<=", ">=", "in", "is", "not"), _COMPARED),
    **dict.fromkeys(("|", "^", "&", "<<", ">>", "+", "-"), _SUM),
    **dict.fromkeys(("*", "/", "//", "%", "@"), _PRODUCT),
}
_NO_CODE = frozenset(
    {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)
_CONSTANTS = frozenset({"None", "True", "False"})
_UNARY = frozenset({"not", "-", "+", "~", "await"})
_WITH_PARAMETERS = frozenset({"async", "class", "def"})
# A bracket that opens a value of several lines, not a call.
_BRACKETED = re.compile(r"(^|[^\w)\]}])\(\n")


class Unclear(Exception):
    """There is something in a statement that is not to be moved."""


def statement_in_lines(flat: str, step: int, width: int) -> str:
    """A statement, or the head of one, in lines that fit.

    Args:
      flat: it, in one line.
      step: how much further what is in brackets is indented.
      width: how long lines may be.
    """
    return _Line(flat, step, width).of_statement()


def expression_in_lines(flat: str, step: int, width: int, before: int = 0, after: int = 0) -> str:
    """An expression within a statement, in lines that fit, without brackets around the whole.

    Args:
      flat: it, in one line.
      step: how much further what is in brackets is indented.
      width: how long lines may be.
      before: how many characters stand on its first line before it.
      after: how many follow it on its last one.
    """
    return _Line(flat, step, width).of_expression(before, after)


def tokens(text: str) -> list[tokenize.TokenInfo]:
    """The tokens that say something; since Python 3.12 a string has several, here it has one."""
    lines = text.split("\n")
    found: list[tokenize.TokenInfo] = []
    opened: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind.endswith("STRING_START"):
            opened.append(token)
        elif kind.endswith("STRING_END"):
            first = opened.pop()
            quoted = lines[first.start[0] - 1][first.start[1] : token.end[1]]
            token = token._replace(type=tokenize.STRING, string=quoted, start=first.start)
        if not opened and token.type not in _NO_CODE:
            found.append(token)
    return found


def joined(text: str, keeps_commas: bool) -> str:
    """A statement in one line, without the commas that its lines had needed.

    Args:
      text: its lines.
      keeps_commas: whether those of several elements stay before the closing bracket.

    Raises:
      Unclear: there are comments or strings of several lines in it, or no whole brackets.
    """
    lines = text.split("\n")
    parts: list[str] = []
    opened: list[tuple[bool, int]] = []  # whether it is that of a call, and the commas in it
    previous: tokenize.TokenInfo | None = None
    for token in tokens(text):
        is_unclear = token.type == tokenize.COMMENT or token.start[0] != token.end[0]
        if is_unclear or (token.string in _CLOSING and not opened):
            raise Unclear
        if previous is not None and previous.end[0] == token.start[0]:
            parts.append(lines[token.start[0] - 1][previous.end[1] : token.start[1]])
        elif previous is not None and token.string in _CLOSING:
            is_call, commas = opened[-1]
            is_needed = not is_call and commas == 1 and token.string == ")"
            # Behind a single element it is not what keeps lines apart.
            is_kept = keeps_commas and commas > 1
            if previous.string == "," and not is_needed and not is_kept:
                parts.pop()
        elif previous is not None and token.string != "." and previous.string not in _OPENING:
            parts.append(" ")
        if token.string in _OPENING:
            opened.append((previous is not None and _is_operand(previous), 0))
        elif token.string in _CLOSING:
            opened.pop()
        elif token.string == "," and opened:
            opened[-1] = (opened[-1][0], opened[-1][1] + 1)
        parts.append(token.string)
        previous = token
    return "".join(parts)


def _is_operand(token: tokenize.TokenInfo) -> bool:
    """Whether a bracket after it is that of a call or a subscript."""
    if token.type == tokenize.NAME:
        return not keyword.iskeyword(token.string) or token.string in _CONSTANTS
    return token.string in _CLOSING or token.type in (tokenize.STRING, tokenize.NUMBER)


def without_brackets(text: str, keeps_commas: bool) -> str:
    """A statement without the brackets that its value had needed for its lines, if it has some."""
    if not _BRACKETED.search(text):
        return text
    flat = joined(text, keeps_commas)
    statement = _Line(flat, 0, 0)
    start, end = statement.value
    inside = statement.closed_by.get(start) == end - 1
    if not inside or statement.has_commas(start + 1, end - 1):
        return text
    bare = flat[:start] + flat[start + 1 : end - 1] + flat[end:]
    return bare if same(bare, flat) else text


def same(one: str, other: str) -> bool:
    """Whether two texts of a statement, or of the head of one, say the same."""
    return _dumped(one) == _dumped(other)


def _dumped(text: str) -> str:
    for start, end in (("", ""), ("", " pass"), ("if x: pass\n", " pass")):
        try:
            return ast.dump(ast.parse(f"{start}{text}{end}"))
        except SyntaxError:
            continue
    return text


class _Token(NamedTuple):
    text: str
    start: int
    end: int
    is_operand: bool  # a bracket or a dot after it belongs to it
    is_string: bool
    is_first: bool  # a bracket would belong to nothing


_NOTHING = _Token("", 0, 0, is_operand=False, is_string=False, is_first=True)


class _Line:
    """A statement or an expression, to be broken.

    Args:
      flat: it, in one line.
      step: how much further what is in brackets is indented.
      width: how long lines may be.
    """

    def __init__(self, flat: str, step: int, width: int) -> None:
        self._flat = flat
        self._step = step
        self._width = width
        self._tokens: list[_Token] = []
        is_first = True
        for each in tokens(flat):
            is_operand, is_string = _is_operand(each), each.type == tokenize.STRING
            place = each.start[1], each.end[1]
            self._tokens.append(_Token(each.string, *place, is_operand, is_string, is_first))
            is_first = not is_operand
        self._starts = [each.start for each in self._tokens]
        self.closed_by: dict[int, int] = {}
        self._last_commas: list[int] = []
        opened: list[_Token] = []
        for previous, token in itertools.pairwise([_NOTHING, *self._tokens]):
            if token.text in _OPENING:
                opened.append(token)
            elif token.text in _CLOSING and opened:
                first = opened.pop()
                self.closed_by[first.start] = token.start
                # That of a tuple of one element is needed.
                if previous.text == "," and len(self._delimiters(first.end, token.start)[1]) > 1:
                    self._last_commas.append(previous.start)

    @property
    def value(self) -> tuple[int, int]:
        """Where the value of the statement stands, behind ``name = ``, ``return `` and the like."""
        end = len(self._flat)
        top = list(self._top(0, end))
        first = top[0].text if top else ""
        if self._flat.endswith(":") and keyword.iskeyword(first):
            end -= 1
        start = 0
        if first in ("return", "if", "elif", "while", "raise", "yield", "await", "assert"):
            start = top[0].end + 1
        for token in top:
            if token.text == "in" and first in ("for", "async"):
                return token.end + 1, end
            if token.text == "," and first == "assert":
                return start, token.start
            if token.text == "lambda":
                break
            is_annotated = token.text == ":" and not keyword.iskeyword(first)
            if is_annotated or (token.text.endswith("=") and token.text not in _DELIMITERS):
                start = token.end + 1
        return start, end

    def of_expression(self, before: int, after: int) -> str:
        """The lines of an expression, with the arguments of ``expression_in_lines``."""
        return self._expression(0, len(self._flat), 0, before, after, may_bracket=False)

    def of_statement(self) -> str:
        """The lines of a statement."""
        if self._fits(0, len(self._flat), 0):
            return self._flat
        if self._tokens[0].text in _WITH_PARAMETERS:
            bracket = next((each for each in self._tokens if each.text in _OPENING), _NOTHING)
            # Without a bracket it is a class, and without parameters a long one.
            if self.closed_by.get(bracket.start, 0) <= bracket.end:
                return self._flat
            close = self.closed_by[bracket.start]
            # Formatters put one behind a single parameter, too.
            comma = self._tokens[0].text == "def" and not self.has_commas(bracket.end, close)
            lines = self._from_bracket(bracket, len(self._flat), 0, "," * comma)
            return self._flat[: bracket.start] + lines
        start, end = self.value
        before, after = self._flat[:start], self._flat[end:]
        may_bracket = start > 0 or not keyword.iskeyword(self._tokens[0].text)
        text = self._expression(start, end, 0, len(before), len(after), may_bracket=may_bracket)
        return f"{before}{text}{after}"

    def has_commas(self, start: int, end: int) -> bool:
        """Whether a piece is a tuple without brackets."""
        return self._delimiters(start, end)[0] == _COMMA

    def _fits(self, start: int, end: int, others: int) -> bool:
        """Whether a piece may stand in one line with so many other characters."""
        is_kept_apart = any(start <= each < end for each in self._last_commas)
        return not is_kept_apart and others + end - start <= self._width

    def _top(self, start: int, end: int) -> Iterator[_Token]:
        """The tokens of a piece outside of its brackets, and the brackets."""
        number = bisect.bisect_left(self._starts, start)
        while number < len(self._tokens) and self._starts[number] < end:
            yield self._tokens[number]
            close = self.closed_by.get(self._starts[number])
            number = number + 1 if close is None else bisect.bisect_left(self._starts, close)

    def _filled(self, start: int, end: int) -> list[_Token]:
        """The brackets of a piece, outside of others, that have something in them."""
        top = self._top(start, end)
        return [each for each in top if self.closed_by.get(each.start, 0) > each.end]

    def _expression(
        self, start: int, end: int, indent: int, before: int, after: int, *, may_bracket: bool
    ) -> str:
        """A piece, whose first line begins further right and whose last one goes on.

        Args:
          start: where it starts.
          end: where it ends.
          indent: of the line that it stands in.
          before: how many characters stand between the indentation and it.
          after: how many follow it.
          may_bracket: whether brackets around it would do no harm.
        """
        flat = self._flat[start:end]
        if self._fits(start, end, indent + before + after):
            return flat
        if body := self._body_of_lambda(start, end):
            return flat[: body - start] + self._of_lambda(
                body, end, indent, before + body - start, after
            )
        kind, at = self._delimiters(start, end)
        if may_bracket and (kind == _COMMA or len(at) > 1):
            return self._bracketed(start, end, indent, apart=kind == _COMMA)
        filled = self._filled(start, end)
        if may_bracket and kind > _DOT:
            # What follows the last one is not to stand behind a closing bracket, and an index
            # is not to be what breaks it.
            filled = [
                each
                for each in filled
                if each.start > at[-1].start and (each.text != "[" or each.is_first)
            ]
        for bracket in reversed(filled):
            is_short = self._fits(self.closed_by[bracket.start], end, indent + after)
            if is_short and self._fits(start, bracket.end, indent + before):
                return flat[: bracket.start - start] + self._from_bracket(bracket, end, indent)
        if may_bracket and (kind > _DOT or self._fits(start, end, indent + self._step)):
            return self._bracketed(start, end, indent)
        if len(filled) > 1:
            head = self._expression(start, filled[-1].start, indent, before, 1, may_bracket=False)
            return head + self._from_bracket(filled[-1], end, indent)
        # What stands before it leaves no room for what comes before its brackets.
        return self._bracketed(start, end, indent) if may_bracket and filled else flat

    def _body_of_lambda(self, start: int, end: int) -> int:
        """Where the body of a lambda starts; 0 if a piece is none."""
        top = self._top(start, end)
        if next(top, _NOTHING).text != "lambda":
            return 0
        depth = 1  # of lambdas that are defaults of parameters
        for token in top:
            depth += (token.text == "lambda") - (token.text == ":")
            if not depth:
                return token.end + 1
        return 0

    def _of_lambda(self, start: int, end: int, indent: int, before: int, after: int) -> str:
        """Its body: broken at the brackets that it ends with, or else in brackets of its own."""
        top = [*self._top(start, end)]
        kind, at = self._delimiters(start, end)
        filled = self._filled(start, end)
        is_one = not kind or (kind == _DOT and len(at) == 1)
        ends_it = bool(filled) and self.closed_by[filled[-1].start] == end - 1
        if ends_it and filled[0].start == start and filled[0] is filled[-1]:
            return self._from_bracket(filled[0], end, indent)
        begins = ends_it and self._fits(start, filled[0].end, indent + before)
        if is_one and ends_it and begins and top[0].text not in _UNARY:
            return self._expression(start, end, indent, before, after, may_bracket=False)
        return self._bracketed(start, end, indent)

    def _from_bracket(self, bracket: _Token, end: int, indent: int, comma: str = "") -> str:
        """What is in a bracket, on lines of its own, and what follows it."""
        close = self.closed_by[bracket.start]
        # A tuple, a list or a set, not what a call is given.
        apart = bracket.is_first and self.has_commas(bracket.end, close)
        body = self._items(bracket.end, close, indent + self._step, apart=apart)
        return f"{bracket.text}\n{body}{comma}\n{' ' * indent}{self._flat[close:end]}"

    def _bracketed(self, start: int, end: int, indent: int, *, apart: bool = False) -> str:
        lines = self._items(start, end, indent + self._step, apart=apart)
        return f"(\n{lines}\n{' ' * indent})"

    def _items(self, start: int, end: int, indent: int, *, apart: bool = False) -> str:
        """What stands between brackets: in one line, or with a line for each element or term."""
        margin = " " * indent
        if not apart and self._fits(start, end, indent):
            return margin + self._flat[start:end]
        kind, at = self._delimiters(start, end)
        if not at or (kind == _DOT and len(at) == 1):
            return margin + self._element(start, end, indent, 0, is_whole=True)
        cuts = [start, *(each.end if kind == _COMMA else each.start for each in at), end]
        lines = []
        for one, other in itertools.pairwise(cuts):
            one += len(self._flat[one:other]) - len(self._flat[one:other].lstrip())
            piece = self._flat[one:other].rstrip()
            if kind == _COMMA:
                piece = piece.removesuffix(",")
            if piece:
                comma = "," * (kind == _COMMA)
                last, is_whole = one + len(piece), kind == _COMMA
                element = self._element(one, last, indent, len(comma), is_whole=is_whole)
                lines.append(f"{margin}{element}{comma}")
        return "\n".join(lines)

    def _element(self, start: int, end: int, indent: int, after: int, *, is_whole: bool) -> str:
        """A line of its own within brackets: a value behind ``name=``, ``key: `` or nothing.

        Args:
          start: where it starts.
          end: where it ends.
          indent: of the line.
          after: how many characters follow it.
          is_whole: whether it is all that stands between two commas.
        """
        value = start
        top = list(self._top(start, end))
        if len(top) > 1 and top[1].text == "=":
            value = top[1].end
        elif top[0].text != "lambda":
            value = next((each.end + 1 for each in top if self._follows_key(each)), start)
        before = value - start
        kind, at = self._delimiters(value, end)
        is_chain = kind == _DOT and len(at) > 1
        if not self._fits(start, end, indent + after) and (
            is_chain or _PRODUCT <= kind <= (_LOGIC if is_whole else _IF)
        ):
            cuts = [value, *(each.start for each in at), end]
            pieces = [self._flat[one:other].rstrip() for one, other in itertools.pairwise(cuts)]
            return self._flat[start:value] + f"\n{' ' * indent}".join(pieces)
        text = self._expression(
            value, end, indent, before, after, may_bracket=is_whole and kind == _IF
        )
        return self._flat[start:value] + text

    def _follows_key(self, token: _Token) -> bool:
        """Whether it is the colon of a dict, not of a slice."""
        before, after = self._flat[token.start - 1], self._flat[token.end : token.end + 1]
        return token.text == ":" and before != " " == after

    def _delimiters(self, start: int, end: int) -> tuple[int, Sequence[_Token]]:
        """What binds least of what a piece may be broken at, and where it stands."""
        found: dict[int, list[_Token]] = {}
        previous: _Token | None = None
        is_target = False  # of a loop
        parameters = 0  # of so many lambdas, one in a default of the other
        is_body = False  # of a lambda, which is a piece of its own
        for token in self._top(start, end):
            kind = _DELIMITERS.get(token.text, 0)
            is_body = is_body and (parameters > 0 or kind < _COMMA)
            if is_target:
                is_target = token.text != "in"
            elif parameters or is_body:
                parameters += (token.text == "lambda") - (parameters > 0 and token.text == ":")
            elif token.text == "lambda":
                parameters, is_body = 1, True
            elif token.text == "for":
                is_target = True
                if previous is not None and previous.text != "async":
                    found.setdefault(_FOR, []).append(token)
            elif token.text == "." and previous is not None and previous.text in _CLOSING:
                found.setdefault(_DOT, []).append(token)
            elif token.is_string and previous is not None and previous.is_string:
                found.setdefault(_STRING, []).append(token)
            elif kind == _COMPARED and previous is not None and previous.text in ("is", "not"):
                pass
            elif kind and previous is not None and (kind >= _LOGIC or previous.is_operand):
                found.setdefault(_FOR if kind == _IF and _FOR in found else kind, []).append(token)
            previous = token
        kind = max(found, default=0)
        return kind, found.get(kind, [])
