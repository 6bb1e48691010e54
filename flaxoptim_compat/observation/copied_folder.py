"""The copy of a user's folder in which a command runs, and which paths belong to which of the two.

Each process of the command gets this by an environment variable, before all other code.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class CopiedFolder:
    """A user's folder, and the copy in which a command runs.

    Args:
      original: the absolute paths of the user's folder: the real one and, if the user came there
        through links, that one too.
      copy: the absolute real path of the copy.
      reports: the folder in which the processes of the command report.
      linked: folders, relative to both, that are links to the original in the copy.
      made_before: paths outside of the copy that an earlier run of the same proof has made.
    """

    def __init__(
        self,
        original: Sequence[str],
        copy: str,
        reports: str,
        linked: Sequence[str] = (),
        made_before: Sequence[str] = (),
    ) -> None:
        self.original = list(original)
        self.copy = copy
        self.reports = reports
        self.linked = list(linked)
        self.made_before = list(made_before)

    @classmethod
    def from_environment(cls, text: str) -> CopiedFolder:
        """Read what ``to_environment`` has written."""
        return cls(**json.loads(text))

    def to_environment(self) -> str:
        """The value of the environment variable."""
        return json.dumps(vars(self))

    def relative(self, path: str) -> str | None:
        """The place of a path in the original; None for one elsewhere or in a linked folder.

        Args:
          path: an absolute path.
        """
        if is_below(path, [self.copy]):
            return None
        for folder in self.original:
            if is_below(path, [folder]):
                inside = path[len(folder) + 1 :]
                return None if is_below(inside, self.linked) else inside
        return None

    def in_copy(self, path: str) -> str:
        """The path in the copy, for one in the original, through links or not; else the path."""
        absolute = os.path.abspath(path)
        for each in (absolute, os.path.realpath(absolute)):
            inside = self.relative(each)
            if inside is not None:
                return os.path.join(self.copy, inside) if inside else self.copy
        return path


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of these folders, or in one of them."""
    return any(path == folder or path.startswith(folder + os.sep) for folder in folders)
