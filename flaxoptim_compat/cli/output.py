"""Printing what a subcommand found, and why it failed."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Sequence


def print_text(text: str) -> None:
    """Print text on stdout; it is no error if nobody reads it to the end.

    Raises:
      SystemExit: it cannot be written, because the disk is full.
    """
    try:
        print(text, flush=True)
    except OSError as error:
        # Python would complain about the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # as with `| head`
            print_error(f"The output cannot be written: {error.strerror}.")
            raise SystemExit(2) from error


def print_styled(lines: Sequence[tuple[str, str]]) -> None:
    """Print lines on stdout, each in its style of rich if that is a terminal."""
    if not sys.stdout.isatty():
        print_text("\n".join(line for line, _ in lines))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line, style in lines:
        # However long it is, it stays one.
        console.print(Text(line, style=style), soft_wrap=True)


def print_error(message: object) -> None:
    """Print why the command failed on stderr, in lines that fit.

    Code, which is indented, and long names stay as they are.
    """
    lines = f"flaxoptim-compat: {message}".splitlines()
    print("\n".join(map(_filled, lines)), file=sys.stderr)


def _filled(line: str) -> str:
    if line.startswith(" "):
        return line
    return textwrap.fill(line, 100, break_long_words=False, break_on_hyphens=False)
