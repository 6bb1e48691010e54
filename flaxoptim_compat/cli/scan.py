"""``flaxoptim-compat scan``: where a program uses what is gone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

SUMMARY = "List where Python files use flax.optim and other names that are gone"

EPILOG = """\
It runs none of them. It follows imports and the names that a file gives them. It does not see names
that are put together at run time, as with getattr, nor those that another file of the program
imports for this one, nor notebooks.

Exit status: 0 if nothing was found, 1 if something was, 2 if a file could not be read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the subcommand."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a file or a folder")


def run(arguments: argparse.Namespace) -> int:
    """Scan, and print one line for each use."""
    from flaxoptim_compat.migrate.scan import python_files, scan

    seen = uses = files_with_uses = 0
    unread: list[str] = []
    try:
        for file in python_files(arguments.paths):
            seen += 1
            try:
                found = scan(file.read_bytes())
            except (OSError, SyntaxError, ValueError) as error:
                unread.append(f"{file}: {error}")
                continue
            for use in found:
                place = f"{file}:{use.line}:{use.column}"
                print(f"{place}: {use.name}, gone since {use.gone_since}: {use.replacement}")
            uses += len(found)
            files_with_uses += bool(found)
    except FileNotFoundError as error:
        print(f"flaxoptim-compat: there is no {error.args[0]}.", file=sys.stderr)
        return 2
    for each in unread:
        print(f"flaxoptim-compat: not read: {each}", file=sys.stderr)
    print(f"{_count(uses, 'use')} in {files_with_uses} of {_count(seen, 'file')}", end="")
    print(f", {len(unread)} not read." if unread else ".")
    if unread or not seen:
        return 2
    return 1 if uses else 0


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
