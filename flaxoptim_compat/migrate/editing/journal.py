"""The journal of a run: the old files, kept until all of them are replaced.

A run has one journal, in the folder that all its paths are in. The run makes and locks the journal
when it begins; the system frees the lock when the process ends, however it ends. Before the first
file is replaced, all old files are in the journal and on the disk. A journal that was cut short is
no JSON, and means that nothing was replaced. In the end the run empties and removes the journal.
So an unlocked journal is that of a run that was killed, and has the old files to put back.
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

from flaxoptim_compat.atomic import appearing_file, directory_to_disk, remove_left_of
from flaxoptim_compat.migrate.editing.replacing_files import NotWritten, Replacement, replace
from flaxoptim_compat.migrate.program.loading import JOURNAL

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_HEAD = '{"made by": "flaxoptim-compat rewrite", '


class JournalError(Exception):
    """The run cannot go on; the message says why."""


class Foreign(JournalError):
    """The file with the name of a journal was not made by a run of this user in this place."""


class OldFile(NamedTuple):
    """A file as it was before the run.

    Args:
      path: the path of the file, below the folder of the journal.
      mtime_ns: the time of its last change.
      new: the hash of the content that the run writes.
      old: the content before the run.
    """

    path: str
    mtime_ns: int
    new: str
    old: bytes


class PutBack(NamedTuple):
    """The result of putting files back.

    Args:
      replaced: the number of files that had been replaced.
      edited: the files that somebody changed since, which stay, each with a copy of the old file.
    """

    replaced: int
    edited: list[tuple[Path, Path]]


class Journal:
    """The journal in one folder, which no other run can open meanwhile.

    Args:
      folder: the real path of the folder.
      is_new: whether to make the journal if there is none.

    Raises:
      JournalError: another run has the journal open, or this user did not make it in this folder.
      OSError: the journal cannot be opened.
    """

    def __init__(self, folder: Path, is_new: bool = False) -> None:
        self.folder = folder
        self.path = folder / JOURNAL
        flags = os.O_RDWR | (os.O_CREAT if is_new else 0)
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        self._file = os.fdopen(os.open(self.path, flags, 0o600), "r+b")
        try:
            self._lock()
            self.files = self._read()
        except BaseException:
            self._file.close()
            raise

    def keep(self, changes: Iterable[Replacement]) -> None:
        """Write the old files into the journal, before they are replaced.

        Raises:
          JournalError: the journal cannot be written.
        """
        try:
            files = list(map(self._old_file, changes))
            rows = [[*each[:3], each.old.decode("utf-8", "surrogateescape")] for each in files]
            content = json.dumps({"made in": str(self.folder), "files": rows})
            self._file.seek(0)
            self._file.truncate()
            self._file.write(f"{_HEAD}{content[1:]}".encode())
            self._file.flush()
            os.fsync(self._file.fileno())
            directory_to_disk(self.folder)
        except OSError as error:
            raise _no_journal(self.path, error) from error
        self.files = files

    def put_back(self, never_replaced: Collection[int] = ()) -> PutBack:
        """Put the old files back, but not over files that somebody has edited since.

        Args:
          never_replaced: the numbers of files that the run did not replace.

        Raises:
          JournalError: a file cannot be written; the journal stays.
        """
        remove_left_of(*(self.folder / each.path for each in self.files))
        replaced, edited, failed = 0, list[OldFile](), list[str]()
        for number, file in enumerate(self.files):
            path = self.folder / file.path
            now = _content(path)
            if now == file.old or number in never_replaced:
                continue
            if now is None or hashlib.sha256(now).hexdigest() != file.new:
                edited.append(file)
                continue
            try:
                replace(Replacement(path, now, file.old), file.mtime_ns)
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
                f"These old files cannot be put back: {', '.join(failed)}. Make them writable, and"
                " run rewrite again, which first puts them back."
            )
        self.forget()
        return PutBack(replaced, copies)

    def forget(self) -> None:
        """Empty the journal, since all files are as they are to be."""
        self.files = []
        self._file.truncate(0)
        with contextlib.suppress(OSError):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Unlock the journal, and remove it unless files are still to be put back."""
        is_done = not self.files
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
                # The lock is behind the content, which nobody could read otherwise.
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
            # Another run ended, and removed the journal, between opening and locking.
            raise self._busy()

    def _busy(self) -> JournalError:
        return JournalError(f"Another rewrite is at work in {self.folder}: wait until it ends.")

    def _read(self) -> list[OldFile]:
        status = os.fstat(self._file.fileno())
        is_mine = sys.platform == "win32" or status.st_uid == os.geteuid()
        if not stat.S_ISREG(status.st_mode) or not is_mine:
            raise self._foreign()
        text = self._file.read()
        head = _HEAD.encode()
        if not text.startswith(head) and not head.startswith(text):
            raise self._foreign()
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            # The run was killed while it wrote the journal.
            return []
        try:
            files = [
                OldFile(path, int(mtime), new, old.encode("utf-8", "surrogateescape"))
                for path, mtime, new, old in content["files"]
            ]
            is_made_here = content["made in"] == str(self.folder)
            if is_made_here and all(self._is_below(each.path) for each in files):
                return files
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

    def _old_file(self, change: Replacement) -> OldFile:
        path = Path(os.path.realpath(change.path.parent)) / change.path.name
        mtime_ns = path.lstat().st_mtime_ns if path.is_file() else 0
        new = hashlib.sha256(change.new).hexdigest()
        return OldFile(str(path.relative_to(self.folder)), mtime_ns, new, change.old)

    def _copy(self, old_file: OldFile) -> Path:
        """Write a copy of an old file, for the user who has edited the rewritten one."""
        copy = self.folder / f"before-{os.path.basename(old_file.path)}-{os.urandom(4).hex()}"
        with appearing_file(copy, mode=0o600) as file:
            file.write(old_file.old)
        return copy


@contextlib.contextmanager
def only_run(
    paths: Iterable[Path], around: Iterable[Path], writes: bool, say: Callable[[str], None]
) -> Iterator[Callable[[], Journal]]:
    """Lock out other runs over some files, after putting back files that a killed run changed.

    Args:
      paths: the files and folders of the run.
      around: folders below them in which there is a journal.
      writes: whether the run may change files.
      say: prints a message on the files that were put back.

    Yields:
      A function that returns the journal of this run.

    Raises:
      JournalError: another run is at work, or files of a killed run cannot be put back.
    """
    folder = _folder_of(paths)
    own: Journal | None = None
    why: OSError | None = None
    with contextlib.ExitStack() as stack:
        if writes:
            # Before looking for other journals, so that one of two runs at once sees the other.
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
                # There is no journal, or it is another user's.
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
    count = len(journal.files)
    if not count:
        return
    back = journal.put_back()
    cut = (
        f"A rewrite of {count:,} file{'' if count == 1 else 's'} in {journal.folder} was cut short."
    )
    if back.edited:
        raise JournalError(f"{cut} {what_is_back(back)} Check these files, and run rewrite again.")
    say(f"{cut} {what_is_back(back)} {back.replaced:,} had been rewritten.")


def what_is_back(back: PutBack) -> str:
    """A sentence on the files that were put back."""
    if not back.edited:
        return "All files are as they were before."
    edited = "; ".join(f"{path}, whose old content is in {copy}" for path, copy in back.edited)
    return (
        "All files are as they were before, but for files that somebody has changed since, which"
        f" stay: {edited}."
    )


def _folder_of(paths: Iterable[Path]) -> Path:
    """The folder that all paths are in."""
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
        f"{path}, in which rewrite keeps the old files, cannot be written:"
        f" {error.strerror}.{advice} No file was changed."
    )


def _content(path: Path) -> bytes | None:
    """The bytes of a file; None if the file cannot be read, or is no regular file any more."""
    try:
        return path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else None
    except OSError:
        return None
