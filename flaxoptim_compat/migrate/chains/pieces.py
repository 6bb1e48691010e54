"""Text with places in it for pieces of the user's own: names stand for these while it is made."""

from __future__ import annotations

import ast
import re
from typing import Final

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.edits import Span

Parts = tuple[str | Span, ...]

# A letter of the Khoisan languages: no program has a name like these, and Python takes them.
_NAME: Final = re.compile("ǁ([0-9]+)_*ǁ")
# What needs brackets around it that its own place in the text does not tell of.
_LOOSE: Final = (ast.NamedExpr, ast.Yield, ast.YieldFrom)
_LOOSER: Final = (*_LOOSE, ast.IfExp, ast.Lambda)


class Pieces:
    """The pieces that the names in a text stand for.

    Args:
      document: the file that they come from.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._pieces: list[Parts] = []

    def of(self, node: ast.expr, within: bool = False) -> str:
        """A name for an expression of the file, as long as that.

        Args:
          node: the expression.
          within: whether it will stand in an expression, not just between commas.
        """
        span = Span(*self._document.span(node))
        loose = _LOOSER if within else _LOOSE
        return self.named(("(", span, ")") if isinstance(node, loose) else (span,))

    def quoted(self, text: str) -> str:
        """A name for a string literal of plain text."""
        return self.named((f'"{text}"',))

    def named(self, parts: Parts) -> str:
        """A name for any parts, as long as those."""
        self._pieces.append(parts)
        start = f"ǁ{len(self._pieces) - 1}"
        return start.ljust(self._width(parts) - 1, "_") + "ǁ"

    def parts(self, text: str) -> Parts:
        """A text with the pieces in the places of their names."""
        result: list[str | Span] = []
        for index, each in enumerate(_NAME.split(text)):
            found = self._pieces[int(each)] if index % 2 else (each,)
            for part in found:
                if isinstance(part, Span) or not result or isinstance(result[-1], Span):
                    result.append(part)
                else:
                    result[-1] = f"{result[-1]}{part}"
        return tuple(part for part in result if part != "")

    def source(self, text: str) -> str:
        """A text as it would be if nothing else changed in the file."""
        return self._source(self.parts(text))

    def _source(self, parts: Parts) -> str:
        return "".join(
            part if isinstance(part, str) else self._document.text[part.start : part.end]
            for part in parts
        )

    def _width(self, parts: Parts) -> int:
        return max(map(len, self._source(parts).split("\n")))
