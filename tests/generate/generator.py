"""What the generators of committed files have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

Files = dict[Path, bytes]


def _every_byte(content: bytes) -> object:
    return content


class Generator(NamedTuple):
    """Committed files that are made of something else in the repository.

    Attributes:
      made_of: what they are made of, in words.
      files: makes all of them anew, and writes nothing.
      folder: holds these files and no others; None where other files are beside them.
      comparable: what has to be the same in a file and in its committed version.
    """

    made_of: str
    files: Callable[[], Files]
    folder: Path | None = None
    comparable: Callable[[bytes], object] = _every_byte

    def superfluous(self, files: Files) -> set[Path]:
        """The files of the folder that are none of these."""
        if self.folder is None:
            return set()
        return {path for path in self.folder.rglob("*") if path.is_file()} - set(files)
