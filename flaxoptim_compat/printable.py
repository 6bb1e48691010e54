"""Names and texts of others, such as keys of checkpoints and source code, for a terminal and a log.

What moves the cursor, or hides what was printed, is an escape as in a literal of Python.
"""

from __future__ import annotations

from pathlib import Path


def one_line(name: str | Path) -> str:
    """A name without line ends, nor anything else that could move the cursor.

    Logs of a CI take a line that begins with two colons as a command, so the first is escaped.
    """
    text = printable(str(name), keep="")
    return f"\\x3a{text[1:]}" if text.startswith("::") else text


def printable(text: str, keep: str = "\n") -> str:
    """Text without anything that could move the cursor, but for the letters to keep."""
    # Nearly all lines are fine as they are, which Python knows at once.
    if text.isprintable():
        return text
    if "\n" in keep and "\n" in text:
        return "\n".join(printable(line, keep) for line in text.split("\n"))
    return "".join(
        letter if letter.isprintable() or letter in keep else repr(letter)[1:-1] for letter in text
    )
