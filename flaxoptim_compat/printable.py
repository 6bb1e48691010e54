"""Names that others have chosen, such as keys of checkpoints and files, as text for a terminal."""

from __future__ import annotations

# To a terminal these are commands: it hides what is printed, or prints something else.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_IN_TEXT = {code: escape for code, escape in _CONTROLS.items() if chr(code) not in "\n\t"}


def printable(name: str) -> str:
    """A name in one line, with an escape of four characters for each control character.

    Logs of a CI take a line that begins with two colons as a command, so that the first is escaped.
    """
    return ("\\x3a" + name[1:] if name.startswith("::") else name).translate(_CONTROLS)


def printable_text(text: str) -> str:
    """A text of several lines, with an escape for each control character but tabs."""
    return text.translate(_IN_TEXT)
