"""Printing the output of a subcommand, and its errors."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flaxoptim_compat.printable import printable

if TYPE_CHECKING:
    from flaxoptim_compat.parity.report import Report

# Code may have tabs.
_KEPT = "\n\t"


def print_text(text: str, exact: bool = False) -> None:
    """Print text on stdout; a reader may stop before the end, as ``head`` does.

    Args:
      text: one line or more.
      exact: whether control characters stay what they are, for another program to read.

    Raises:
      SystemExit: the text cannot be written, as on a full disk.
    """
    try:
        print(text if exact else printable(text, _KEPT), flush=True)
    except OSError as error:
        # Python would complain about the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # as with `| head`
            print_error(f"The output cannot be written: {error.strerror}.")
            raise SystemExit(2) from error


def print_styled(lines: Sequence[tuple[str, str]], exact: bool = False) -> None:
    """Print lines on stdout, each in its style of rich if that is a terminal.

    Args:
      lines: with their styles.
      exact: whether control characters stay what they are, if it is none.
    """
    if not sys.stdout.isatty():
        print_text("\n".join(line for line, _ in lines), exact)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line, style in lines:
        # However long it is, it stays one.
        console.print(Text(printable(line, _KEPT), style=style), soft_wrap=True)


def print_aside(text: str) -> None:
    """Print a line on stderr, at once: what goes on, or what is no part of the output."""
    print(printable(text, _KEPT), file=sys.stderr, flush=True)


def print_error(message: object) -> None:
    """Print why the command failed on stderr, in lines that fit.

    Code, which is indented, and long names stay as they are.
    """
    lines = printable(f"flaxoptim-compat: {message}", _KEPT).split("\n")
    print("\n".join(map(_filled, lines)), file=sys.stderr)


def save_report(report: Report, path: Path) -> None:
    """Write a report to a file, and say so.

    Raises:
      ParityError: the file cannot be written.
    """
    report.save(path)
    what_next = ": open it in a browser" if path.suffix == ".html" else ""
    print_text(f"Wrote {path}{what_next}.")


def _filled(line: str) -> str:
    if line.startswith(" "):
        return line
    return textwrap.fill(line, 100, break_long_words=False, break_on_hyphens=False)
