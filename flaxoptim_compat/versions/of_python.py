"""Functions that Python 3.10 lacks."""

from __future__ import annotations

import io
import sys
import tokenize
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# What makes an expression one level deeper for each time that it stands there.
_OPERATORS = frozenset({*"+-*/%@&|^.([", "//", "<<", ">>"})
# Far more than people write; that many levels take a tenth of the smallest stack.
_MOST_OPERATORS = 10_000


@contextmanager
def warnings_ignored() -> Iterator[None]:
    """No warning is shown inside; before Python 3.11 there is no argument for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def read_toml(text: str) -> dict[str, Any]:
    """The content of a text in TOML; before Python 3.11 the standard library has no reader.

    Raises:
      ValueError: it is no TOML.
    """
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("a value in it is nested too deeply") from error


def add_note(error: Exception, note: str) -> None:
    """Say more below what an error says; before Python 3.11 at the end of its message."""
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:
        error.args = ("\n".join([*map(str, error.args[:1]), note]), *error.args[1:])


def parser_survives(text: str) -> bool:
    """True if Python's parser may be given a text.

    That of 3.10 ends the process over a hundred thousand operations in one expression; later ones
    raise an error.
    """
    if sys.version_info >= (3, 11) or sum(map(text.count, "+-*/%@&|^<>.([")) < _MOST_OPERATORS:
        return True
    count = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            count = 0 if token.type == tokenize.NEWLINE else count + (token.string in _OPERATORS)
            if count > _MOST_OPERATORS:
                return False
    except (tokenize.TokenError, SyntaxError):
        pass  # the parser says what is wrong
    return True
