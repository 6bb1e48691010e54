"""The verdict that a rewrite must not stay, with its reason."""

from __future__ import annotations

from typing import NamedTuple


class Verdict(NamedTuple):
    """The reason why a rewrite must not stay.

    Args:
      message: what happened, in a sentence.
      details: more about it, in lines of their own.
      output: what a command printed.
      is_of_command: whether a command has failed, and not what it showed.
    """

    message: str
    details: str = ""
    output: str = ""
    is_of_command: bool = False
