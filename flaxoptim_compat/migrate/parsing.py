"""Parsing a text as Python, and why it cannot be."""

from __future__ import annotations

import ast
import warnings


class Unparsable(Exception):
    """Text that is no Python.

    Args:
      line: where, from 1.
      message: why.
    """

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line
        self.message = message


def parse(text: str) -> ast.Module:
    """Parse a module; nothing is said of what Python only warns about.

    Raises:
      Unparsable: it is no Python of this version, or nested too deeply for its parser.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise Unparsable(error.lineno or 0, error.msg) from error
    except (RecursionError, MemoryError, ValueError) as error:
        # What Python's parser says of it depends on what is nested.
        raise Unparsable(0, "it is nested too deeply") from error
