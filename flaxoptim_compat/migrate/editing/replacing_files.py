"""Replacing files, each at any moment the old one or the new one, or all of them together.

A run that is killed leaves at most one unfinished file; see ``atomic``. The next run says so, or
removes it if it writes itself. With a command of the user's, changes are for good only if that
succeeds before and after; until then a journal has the files as they were.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from flaxoptim_compat.atomic import appearing_directory, appearing_file, file_in
from flaxoptim_compat.observation.verdict import Verdict


class Replacement(NamedTuple):
    """A file that is to be replaced.

    Args:
      path: where it is.
      old: what is in it.
      new: what is to be in it.
    """

    path: Path
    old: bytes
    new: bytes


class NotWritten(Exception):
    """A file that is as it was; the message says why."""


def replace(change: Replacement, mtime_ns: int | None = None) -> None:
    """Replace a file; its mode and its owner stay.

    Args:
      change: the file, and what is to be in it.
      mtime_ns: when it was changed last; now, if None.

    Raises:
      NotWritten: it is another one than it was when it was read, or it cannot be written.
    """
    path = change.path
    try:
        status = path.lstat()
        # Nobody reads it meanwhile who may not read the old one.
        with appearing_file(path, lambda: _refuse_changed(change), mode=0o600) as file:
            file.write(change.new)
            file.flush()
            _take_over(file, status)
            if mtime_ns is not None:
                os.utime(file.name, ns=(mtime_ns, mtime_ns))
    except OSError as error:
        raise NotWritten(error.strerror or str(error)) from error


def remove_unfinished(paths: Iterable[Path]) -> list[Path]:
    """Remove what killed runs have left behind; returns what is gone."""
    removed = []
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()
            removed.append(path)
    return removed


def _refuse_changed(change: Replacement) -> None:
    if not stat.S_ISREG(change.path.lstat().st_mode):
        raise NotWritten("it is a link or no file any more")
    if change.path.read_bytes() != change.old:
        raise NotWritten("it has changed since it was read")


def _take_over(file: BinaryIO, status: os.stat_result) -> None:
    """Give a file the owner and the mode of another one."""
    descriptor = file.fileno()
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    # After the owner, as a change of that takes bits away.
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


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

    def __init__(self, changes: Sequence[Replacement]) -> None:
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
                    replace(Replacement(change.path, change.new, change.old), mtime)
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


class Outcome(NamedTuple):
    """What was written.

    Args:
      written: the files that are new now.
      failed: those that could not be written, and why.
    """

    written: list[Path]
    failed: list[tuple[Path, str]]


class Judge(Protocol):
    """Decides whether files stay replaced."""

    def after(self) -> Verdict | None:
        """Look at it when its files have been replaced; returns why they must be put back."""

    def put_back(self, verdict: Verdict) -> Verdict:
        """Look once more when they have been put back; returns what there is to say then."""


class VerificationError(Exception):
    """The files are as they were; the message says why.

    Args:
      message: what happened.
      output: what the command printed.
      is_after: whether it failed with the new files, and not with the old ones already.
    """

    def __init__(self, message: str, output: str, is_after: bool) -> None:
        super().__init__(message)
        self.output = output
        self.is_after = is_after


def write(changes: Sequence[Replacement]) -> Outcome:
    """Replace files, one after the other."""
    outcome = Outcome([], [])
    for change in changes:
        try:
            replace(change)
        except NotWritten as error:
            outcome.failed.append((change.path, str(error)))
        else:
            outcome.written.append(change.path)
    return outcome


def write_verified(
    changes: Sequence[Replacement], judge: Judge, say: Callable[[str], None]
) -> Outcome:
    """Replace files, and put them back if a judge says so.

    Args:
      changes: the files.
      judge: looks at the program when they have been replaced.
      say: is told what is being done.

    Raises:
      JournalError: the files as they are cannot be kept.
      VerificationError: the judge is against it; no file is changed.
    """
    refuse_existing_journal()
    journal = Journal(changes)
    say(f"Should this be killed, the files as they were come back with:\n\n  {journal.command}\n")
    try:
        outcome = write(changes)
        verdict = None if outcome.failed else judge.after()
    except BaseException:
        say(_put_back(journal))
        raise
    if outcome.failed:
        # The judge would see a program of old and new files.
        say(_put_back(journal))
        return Outcome([], outcome.failed)
    if verdict is not None:
        said = _put_back(journal)
        if said == _ALL_ARE_BACK:
            verdict = judge.put_back(verdict)
        lines = filter(None, (f"{verdict.message} {said}", verdict.details))
        raise VerificationError("\n".join(lines), verdict.output, verdict.is_of_command)
    journal.remove()
    return outcome


_ALL_ARE_BACK = "All files are as they were before."


def _put_back(journal: Journal) -> str:
    """Put all files back, and say so."""
    left = journal.put_back()
    if not left:
        journal.remove()
        return _ALL_ARE_BACK
    those = ", ".join(f"{path} ({why})" for path, why in left)
    return (
        "The files are as they were before, but not these, which stay as they are:"
        f" {those}. As they were they are in {journal.folder}, which can be deleted."
    )
