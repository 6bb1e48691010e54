"""What Python 3.10 lacks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@contextmanager
def warnings_ignored() -> Iterator[None]:
    """No warning is shown inside; before Python 3.11 there is no argument for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def read_toml(text: str) -> dict[str, Any]:
    """What a text in TOML says; before Python 3.11 the standard library has no reader.

    Raises:
      ValueError: it is no TOML.
    """
    return tomllib.loads(text)


def add_note(error: Exception, note: str) -> None:
    """Say more below what an error says; before Python 3.11 at the end of its message."""
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:
        error.args = ("\n".join([*map(str, error.args[:1]), note]), *error.args[1:])
