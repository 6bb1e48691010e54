"""``migration_guide/command_line.md``: every command and its arguments, from their own help."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from flaxoptim_compat import cli
from tests.generate.generator import Files, Generator
from tests.support.places import GUIDE

PAGE = GUIDE / "command_line.md"


def _page(parser: argparse.ArgumentParser, depth: int) -> Iterator[str]:
    """The sections of a command and of its subcommands."""
    yield f"{'#' * depth} {parser.prog if depth > 1 else 'The command line'}"
    yield _text(parser.description)
    shown = [each for each in parser._actions if each.help is not argparse.SUPPRESS]
    rows = [_row(parser, each) for each in shown if not _of_subcommands(each)]
    rows = [row for row in rows if not row.startswith("| `-h`")]
    if rows:
        yield "\n".join(["| argument | what it does |", "| --- | --- |", *rows])
    if "\n" in (parser.epilog or ""):
        # One of them names a file of this package, which is elsewhere for each reader.
        text = (parser.epilog or "").replace(f"{Path(cli.__file__).parents[2]}/", "")
        yield f"```text\n{text}\n```"
    else:
        yield _text(parser.epilog)
    for action in shown:
        for subparser in _of_subcommands(action):
            yield from _page(subparser, depth + 1)


def _reader(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The parser itself, or the one that reads its words."""
    words = any(each.nargs == argparse.REMAINDER and not each.help for each in parser._actions)
    return cli.parity.parser_of("compare", parser.prog) if words else parser


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    names = [f"`{each}`" for each in action.option_strings] or [f"`{_value(action)}`"]
    if action.option_strings and action.nargs != 0:
        names[-1] = f"`{action.option_strings[-1]} {_value(action)}`"
    text = parser._get_formatter()._expand_help(action) if action.help else ""
    return f"| {', '.join(names)} | {_text(text)} |"


def _value(action: argparse.Action) -> str:
    """What stands for the value in the help."""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper() if action.option_strings else action.dest


def _text(text: str | None) -> str:
    """Help in one line of Markdown."""
    return " ".join((text or "").split()).replace("<", "\\<").replace("|", "\\|")


def _of_subcommands(action: argparse.Action) -> list[argparse.ArgumentParser]:
    if isinstance(action, argparse._SubParsersAction):
        return [*map(_reader, action.choices.values())]
    return []


def files() -> Files:
    """The page."""
    return {PAGE: ("\n\n".join(filter(None, _page(cli._parser(), 1))) + "\n").encode()}


GENERATOR = Generator("migration_guide/command_line.md: the help of the command line", files)
