"""The verdict that a rewrite must not stay, with its reason."""

from __future__ import annotations

from typing import NamedTuple


class Verdict(NamedTuple):
    """The reason why a rewrite must not stay.

    Args:
      message: a sentence on the failure.
      details: more lines below the message.
      output: the output of the command.
      is_of_command: whether the command failed; if not, its numbers differ.
    """

    message: str
    details: str = ""
    output: str = ""
    is_of_command: bool = False
