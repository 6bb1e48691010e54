"""One run is one change: how files were before it, kept until all of them are replaced.

A run has one journal, in the folder that all its paths are in. It is made when the run begins, and
locked: the system frees the lock when the process ends, however it ends. Before the first file is
replaced, the journal has all of them as they were, on the disk; half of one is no JSON, and means
that nothing was replaced. It is emptied and removed in the end. So a journal that a run finds and
that nobody has locked is that of a run that was cut short, and says how to put the files back.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.atomic import appearing_file, directory_to_disk
from flaxoptim_compat.migrate.editing.replacing_files import NotWritten, Replacement, replace
from flaxoptim_compat.migrate.program.loading import JOURNAL, UNFINISHED

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_HEAD = '{"made by": "flaxoptim-compat rewrite", '


class JournalError(Exception):
    """The run cannot go on; the message says why."""


class Foreign(JournalError):
    """The file with the name of a journal was not made by a run of this user in this place."""


class Entry(NamedTuple):
    """A file as it was before the run.

    Args:
      path: where it is, below the folder of the journal.
      mtime_ns: when it was changed last.
      new: the hash of what the run makes of it.
      old: what was in it.
    """

    path: str
    mtime_ns: int
    new: str
    old: bytes


class Back(NamedTuple):
    """The result of putting files back.

    Args:
      replaced: how many files had been replaced.
      edited: those that somebody changed since; each stays, with a copy of it as it was.
    """

    replaced: int
    edited: list[tuple[Path, Path]]


class Journal:
    """The journal in one folder, which nobody else can open meanwhile.

    Args:
      folder: its real path.
      is_new: whether it is made if there is none.

    Raises:
      JournalError: another run has it open, or it is none of this user's, made here.
      OSError: it cannot be opened.
    """

    def __init__(self, folder: Path, is_new: bool = False) -> None:
        self.folder = folder
        self.path = folder / JOURNAL
        flags = os.O_RDWR | (os.O_CREAT if is_new else 0)
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        self._file = os.fdopen(os.open(self.path, flags, 0o600), "r+b")
        try:
            self._lock()
            self.entries = self._read()
        except BaseException:
            self._file.close()
            raise

    def keep(self, changes: Iterable[Replacement]) -> None:
        """Note how files are, before they are replaced.

        Raises:
          JournalError: that cannot be written.
        """
        try:
            entries = list(map(self._entry, changes))
            files = [[*each[:3], each.old.decode("utf-8", "surrogateescape")] for each in entries]
            noted = json.dumps({"made in": str(self.folder), "files": files})
            self._file.seek(0)
            self._file.truncate()
            self._file.write(f"{_HEAD}{noted[1:]}".encode())
            self._file.flush()
            os.fsync(self._file.fileno())
            directory_to_disk(self.folder)
        except OSError as error:
            raise _no_journal(self.path, error) from error
        self.entries = entries

    def put_back(self, never_replaced: Collection[int] = ()) -> Back:
        """Put each file back that is what the run made of it.

        Args:
          never_replaced: the numbers of those that are known to be no matter.

        Raises:
          JournalError: one cannot be written; the journal stays.
        """
        self._remove_unfinished()
        replaced, edited, failed = 0, list[Entry](), list[str]()
        for number, entry in enumerate(self.entries):
            path = self.folder / entry.path
            now = _content(path)
            if now == entry.old or number in never_replaced:
                continue
            if now is None or hashlib.sha256(now).hexdigest() != entry.new:
                edited.append(entry)
                continue
            try:
                replace(Replacement(path, now, entry.old), entry.mtime_ns)
                replaced += 1
            except NotWritten as error:
                failed.append(f"{path} ({error})")
        try:
            copies = (
                [] if failed else [(self.folder / each.path, self._copy(each)) for each in edited]
            )
        except OSError as error:
            failed.append(f"{self.folder} ({error.strerror})")
        if failed:
            raise JournalError(
                f"Not all files can be put back as they were: {', '.join(failed)}. See to it that"
                " they can be written; rewrite, run again, then puts them back first."
            )
        self.forget()
        return Back(replaced, copies)

    def forget(self) -> None:
        """Say that all files are as they are to be."""
        self.entries = []
        self._file.truncate(0)
        with contextlib.suppress(OSError):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Unlock it; it is removed unless files are still to be put back."""
        is_done = not self.entries
        if sys.platform == "win32":
            self._file.close()
        if is_done:
            with contextlib.suppress(OSError):
                self.path.unlink()
                directory_to_disk(self.folder)
        self._file.close()

    def _lock(self) -> None:
        try:
            if sys.platform == "win32":
                # Behind all that is written, as nobody could read it otherwise.
                os.lseek(self._file.fileno(), 1 << 30, os.SEEK_SET)
                msvcrt.locking(self._file.fileno(), msvcrt.LK_NBLCK, 1)
                os.lseek(self._file.fileno(), 0, os.SEEK_SET)
            else:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # Some network file systems have no locks.
            if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EINVAL):
                raise self._busy() from error
        if not os.fstat(self._file.fileno()).st_nlink:
            # It was removed by a run that ended between opening and locking.
            raise self._busy()

    def _busy(self) -> JournalError:
        return JournalError(f"Another rewrite is at work in {self.folder}: wait until it ends.")

    def _read(self) -> list[Entry]:
        status = os.fstat(self._file.fileno())
        is_mine = sys.platform == "win32" or status.st_uid == os.geteuid()
        if not stat.S_ISREG(status.st_mode) or not is_mine:
            raise self._foreign()
        text = self._file.read()
        head = _HEAD.encode()
        if not text.startswith(head) and not head.startswith(text):
            raise self._foreign()
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            # It was cut short itself.
            return []
        try:
            entries = [
                Entry(path, int(mtime), new, old.encode("utf-8", "surrogateescape"))
                for path, mtime, new, old in found["files"]
            ]
            is_made_here = found["made in"] == str(self.folder)
            if is_made_here and all(self._is_below(each.path) for each in entries):
                return entries
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise self._foreign() from error
        raise self._foreign()

    def _is_below(self, path: str) -> bool:
        """True if a path is below the folder, and leads through no link."""
        parent = (self.folder / path).parent
        is_real = os.path.realpath(parent) == os.path.normpath(parent)
        return is_real and parent.is_relative_to(self.folder) and ".." not in Path(path).parts

    def _foreign(self) -> Foreign:
        return Foreign(
            f"{self.path} has the name of a file that rewrite makes, but no run of yours made it in"
            " this folder. Move it away or delete it, and run rewrite again. No file was changed."
        )

    def _entry(self, change: Replacement) -> Entry:
        path = Path(os.path.realpath(change.path.parent)) / change.path.name
        mtime_ns = path.lstat().st_mtime_ns if path.is_file() else 0
        new = hashlib.sha256(change.new).hexdigest()
        return Entry(str(path.relative_to(self.folder)), mtime_ns, new, change.old)

    def _copy(self, entry: Entry) -> Path:
        """A copy of a file as it was, for who has edited what the run made of it."""
        copy = self.folder / f"before-{os.path.basename(entry.path)}-{os.urandom(4).hex()}"
        with appearing_file(copy, mode=0o600) as file:
            file.write(entry.old)
        return copy

    def _remove_unfinished(self) -> None:
        """Remove what was being written beside its files when the run was cut short."""
        for parent in {(self.folder / each.path).parent for each in self.entries}:
            with contextlib.suppress(OSError):
                for name in filter(UNFINISHED.fullmatch, os.listdir(parent)):
                    (parent / name).unlink()


@contextlib.contextmanager
def only_run(
    paths: Iterable[Path], around: Iterable[Path], writes: bool, say: Callable[[str], None]
) -> Iterator[Callable[[], Journal]]:
    """Be the only run over some files, and first put back what one that was cut short has changed.

    Args:
      paths: the files and folders of the run.
      around: folders below them in which there is a journal.
      writes: whether the run may change files.
      say: is told what was put back.

    Yields:
      What gives the journal of this run.

    Raises:
      JournalError: another run is at work, or not all files are as they were before that run.
    """
    folder = _folder_of(paths)
    own: Journal | None = None
    why: OSError | None = None
    with contextlib.ExitStack() as stack:
        if writes:
            # Before it looks for others, so that of two at once one sees the other.
            try:
                own = Journal(folder, is_new=True)
            except OSError as error:
                why = error
            else:
                stack.callback(own.close)
                _recover(own, say)
        others = {folder, *folder.parents, *(Path(os.path.realpath(each)) for each in around)}
        for other in sorted(others - ({folder} if own is not None else set())):
            try:
                journal = Journal(other)
            except (OSError, Foreign):
                # There is none, or it is somebody else's.
                continue
            stack.callback(journal.close)
            _recover(journal, say)

        def journal_of_this_run() -> Journal:
            if own is None:
                assert why is not None
                raise _no_journal(folder / JOURNAL, why)
            return own

        yield journal_of_this_run


def _recover(journal: Journal, say: Callable[[str], None]) -> None:
    count = len(journal.entries)
    if not count:
        return
    back = journal.put_back()
    cut = (
        f"A rewrite of {count:,} file{'' if count == 1 else 's'} in {journal.folder} was cut short."
    )
    if back.edited:
        raise JournalError(f"{cut} {what_is_back(back)} Look at that, and run rewrite again.")
    say(f"{cut} {what_is_back(back)} {back.replaced:,} had been rewritten.")


def what_is_back(back: Back) -> str:
    """A sentence on what was put back."""
    if not back.edited:
        return "All files are as they were before."
    those = "; ".join(f"{path}: as it was before, it is in {copy}" for path, copy in back.edited)
    return (
        "All files are as they were before, but not these, which somebody has changed since. They"
        f" stay as they are: {those}."
    )


def _folder_of(paths: Iterable[Path]) -> Path:
    """The folder that they are all in."""
    folders = [os.path.realpath(each if each.is_dir() else each.parent) for each in paths]
    try:
        return Path(os.path.commonpath(folders))
    except ValueError as error:
        raise JournalError(f"One run cannot be about all of these paths: {error}.") from error


def _no_journal(path: Path, error: OSError) -> JournalError:
    advice = (
        ""
        if not os.path.lexists(path) or stat.S_ISREG(path.lstat().st_mode)
        else " Move it away first."
    )
    return JournalError(
        f"{path} cannot be written: {error.strerror}.{advice} No file was changed, as"
        " rewrite keeps there how the files were."
    )


def _content(path: Path) -> bytes | None:
    """The bytes of a file; None if it cannot be read, or is no regular file any more."""
    try:
        return path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else None
    except OSError:
        return None
