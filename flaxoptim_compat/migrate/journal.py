"""The files as they were, kept beside the program until a rewrite has proven itself."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from flaxoptim_compat.atomic import appearing_directory, file_in
from flaxoptim_compat.migrate.writing import Change, NotWritten, replace

# Hidden, so that no test runner and no scan looks into it.
NAME = ".flaxoptim-compat-before"


class JournalError(Exception):
    """There is no place for a journal; the message says why."""


class Journal:
    """Copies of files in a folder of the current one, below their common parent.

    Args:
      changes: the files.

    Raises:
      JournalError: there is a journal already, or none can be written.
    """

    def __init__(self, changes: Sequence[Change]) -> None:
        self.folder = Path.cwd() / NAME
        self._absolute = [Path(os.path.abspath(each.path)) for each in changes]
        self._top = Path(os.path.commonpath([path.parent for path in self._absolute]))
        self._changes = changes
        self._mtimes = [each.path.stat().st_mtime_ns for each in changes]
        try:
            self._write()
        except OSError as error:
            raise JournalError(f"{self.folder} cannot be written: {error.strerror}.") from error

    @property
    def command(self) -> str:
        """The command that puts all files back."""
        return command_to_put_back(self.folder, self._top)

    def put_back(self) -> list[tuple[Path, str]]:
        """Put each file back that is what the rewrite made of it; returns what is not, and why."""
        left: list[tuple[Path, str]] = []
        for change, mtime in zip(self._changes, self._mtimes, strict=True):
            try:
                if change.path.read_bytes() != change.old:
                    replace(Change(change.path, change.new, change.old), mtime)
            except (NotWritten, OSError) as error:
                left.append((change.path, str(error)))
        return left

    def remove(self) -> None:
        """Forget how the files were."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self) -> None:
        # Under its name it is complete: half of a copy must not be put back. Until then it is
        # hidden as well.
        unfinished = self.folder.with_name(f"{NAME}-unfinished")
        with appearing_directory(self.folder, refuse_existing_journal, unfinished) as folder:
            with file_in(folder, "top") as file:
                file.write(f"{self._top}\n".encode())
            for path, change in zip(self._absolute, self._changes, strict=True):
                name = "files" / path.relative_to(self._top)
                with file_in(folder, name) as file:
                    file.write(change.old)
                shutil.copystat(path, folder / name)


def command_to_put_back(folder: Path, top: Path) -> str:
    """The command that puts all files back from a journal."""
    source = shlex.quote(f"{folder / 'files'}{os.sep}.")
    return f"cp -pR {source} {shlex.quote(str(top))} && rm -r {shlex.quote(str(folder))}"


def refuse_existing_journal() -> None:
    """See that no run before this one has left its journal behind.

    Raises:
      JournalError: one has, so that it is not known which state of the files is meant.
    """
    folder = Path.cwd() / NAME
    if not os.path.lexists(folder):
        return
    top = Path.cwd()
    with contextlib.suppress(OSError):
        top = Path((folder / "top").read_text(encoding="utf-8").removesuffix("\n"))
    raise JournalError(
        "A rewrite with --verify was killed here before it knew whether the command succeeds. The"
        " files as they were before are in"
        f" {folder}. To have them back:\n\n  {command_to_put_back(folder, top)}\n\nTo keep the"
        f" files as they are now:\n\n  rm -r {shlex.quote(str(folder))}"
    )
