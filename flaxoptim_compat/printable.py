"""Foreign names and texts, such as keys of checkpoints and source code, for a terminal and a log.

A character that moves the cursor, or hides printed text, becomes an escape as in a Python literal.
"""

from __future__ import annotations

from pathlib import Path


def one_line(name: str | Path) -> str:
    """A name in one line, without characters that could move the cursor.

    The log of a CI takes a line that begins with two colons as a command, so the first is escaped.
    """
    text = printable(str(name), keep="")
    return f"\\x3a{text[1:]}" if text.startswith("::") else text


def printable(text: str, keep: str = "\n") -> str:
    """The text with escapes for characters that could move the cursor, except those to keep."""
    # Nearly all lines need no escapes, and this test is fast.
    if text.isprintable():
        return text
    if "\n" in keep and "\n" in text:
        return "\n".join(printable(line, keep) for line in text.split("\n"))
    return "".join(
        letter if letter.isprintable() or letter in keep else repr(letter)[1:-1] for letter in text
    )


def shortened(text: str, width: int) -> str:
    """Text with dots instead of its middle where it is longer than so many letters."""
    if len(text) <= width:
        return text
    left = (width - 3) // 2
    return f"{text[:left]}...{text[len(text) - (width - 3 - left) :]}"
