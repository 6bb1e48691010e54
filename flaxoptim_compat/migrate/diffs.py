"""What would change, as a patch."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

_NO_END = "\\ No newline at end of file"


def unified_diff(path: Path, old: bytes, new: bytes) -> Iterator[str]:
    """The lines of a unified diff, without their ends; ``git apply`` takes them.

    Args:
      path: the file.
      old: what is in it, in UTF-8.
      new: what would be in it.
    """
    names = (str(path), str(path)) if path.is_absolute() else (f"a/{path}", f"b/{path}")
    lines = [text.decode().split("\n") for text in (old, new)]
    # What stands after the last line end is a line only if there is something.
    marked = [[f"{line}\n" for line in each[:-1]] + each[-1:] * bool(each[-1]) for each in lines]
    before, after = marked
    for line in difflib.unified_diff(before, after, *names):
        if line.endswith("\n"):
            yield line[:-1]
        else:
            yield line
            yield _NO_END
