"""Help that fits the terminal: sentences are folded, and indented lines stay as they are."""

from __future__ import annotations

import argparse
import itertools
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


class HelpText(argparse.HelpFormatter):
    """A formatter of help that keeps the lines of examples in descriptions and epilogs."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        blocks = itertools.groupby(text.splitlines(), lambda line: line[:1].isspace() or not line)
        return "\n".join(
            "\n".join(lines) if stays else textwrap.fill(" ".join(lines), width)
            for stays, lines in blocks
        )


def add_command(
    commands: Commands, name: str, summary: str, epilog: str = "", **more: Any
) -> argparse.ArgumentParser:
    """Add a command to others; returns its parser, which has no arguments yet."""
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary}.",
        epilog=epilog,
        formatter_class=HelpText,
        **more,
    )
