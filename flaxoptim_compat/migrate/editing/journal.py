"""The journal of a rewrite: the old files, kept until all are replaced, and then for ``--undo``.

A rewrite has one journal, in the folder that all its paths are in. Before the first file is
replaced, all old files are in the journal and on the disk; after the last one, a line says so. A
journal that was cut short is no JSON, and means that nothing was replaced. One without that line is
that of a rewrite that was killed: the next one puts its files back. The journal is locked while
files are replaced, and the system frees the lock however the process ends.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.atomic import appearing_file, directory_to_disk, remove_left_of
from flaxoptim_compat.migrate.editing import replacing_files
from flaxoptim_compat.migrate.editing.replacing_files import NotWritten, Replacement
from flaxoptim_compat.observation import places

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# In the folder in which ``run --observe`` keeps what it saw.
JOURNAL = Path(places.FOLDER, "last_rewrite")
_HEAD = '{"made by": "flaxoptim-compat rewrite", '
_WRITTEN = b"\nwritten\n"


class JournalError(Exception):
    """The rewrite cannot go on; the message says why."""


class Foreign(JournalError):
    """The file with the name of a journal was not made by this user in this place."""


class OldFile(NamedTuple):
    """A file as it was before the rewrite.

    Args:
      path: the path of the file, below the folder of the journal.
      mtime_ns: the time of its last change.
      new: the hash of the content that the rewrite writes.
      old: the content before.
    """

    path: str
    mtime_ns: int
    new: str
    old: bytes


class Outcome(NamedTuple):
    """The files that were written, and those that could not be written.

    Args:
      written: the files that are new now: all or none.
      failed: the files that could not be written, and why.
    """

    written: list[Path]
    failed: list[tuple[Path, str]]


def write(changes: Sequence[Replacement], paths: Iterable[Path]) -> Outcome:
    """Replace all files, or none if one of them has changed or cannot be replaced.

    Args:
      changes: the files.
      paths: the files and folders of the rewrite.

    Raises:
      JournalError: another rewrite is writing, or the old files cannot be kept.
    """
    folder = folder_of(paths)
    try:
        journal = Journal(folder, is_new=True)
    except OSError as error:
        raise _no_journal(folder / JOURNAL, error) from error
    with contextlib.closing(journal):
        if journal.is_cut_short:
            journal.put_back()
        journal.keep(changes)
        failed: dict[int, str] = {}
        try:
            for number, change in enumerate(changes):
                try:
                    replacing_files.replace(change)
                except NotWritten as error:
                    failed[number] = str(error)
        except BaseException:
            journal.put_back()
            raise
        if failed:
            # Edits of the other files count on those of the failed ones.
            journal.put_back(failed)
            return Outcome([], [(changes[number].path, why) for number, why in failed.items()])
        journal.finish()
        return Outcome([each.path for each in changes], [])


def recover(paths: Iterable[Path], around: Iterable[Path], say: Callable[[str], None]) -> None:
    """Put back the files that a killed rewrite has changed.

    Args:
      paths: the files and folders of this rewrite.
      around: folders below them in which there is a journal.
      say: prints a message on the files that were put back.

    Raises:
      JournalError: another rewrite is writing, or files cannot be put back.
    """
    for journal in _journals(paths, around):
        with contextlib.closing(journal):
            if not journal.is_cut_short:
                continue
            count = len(journal.files)
            replaced = journal.put_back()
            files = f"{count:,} file{'' if count == 1 else 's'}"
            say(
                f"A rewrite of {files} in {journal.folder} was cut short. All files are as they"
                f" were before. {replaced:,} had been rewritten."
            )


def undo(path: Path) -> list[Path]:
    """Take back the last rewrite in a folder, or in the nearest one above with a rewrite.

    Returns:
      The files, which are as they were before.

    Raises:
      JournalError: there is no such rewrite, or one of its files has changed since.
    """
    folder = folder_of([path])
    for each in (folder, *folder.parents):
        for journal in _journals_in([each]):
            with contextlib.closing(journal):
                if journal.files:
                    files = [journal.folder / file.path for file in journal.files]
                    journal.put_back()
                    return files
    raise JournalError(f"No rewrite to take back is known in {folder}, or in a folder above.")


class Journal:
    """The journal in one folder, which no other process can open meanwhile.

    Args:
      folder: the real path of the folder.
      is_new: whether to make the journal if there is none.

    Raises:
      JournalError: another process has the journal open, or this user did not make it in this
        folder.
      OSError: the journal cannot be opened.
    """

    def __init__(self, folder: Path, is_new: bool = False) -> None:
        self.folder = folder
        self.path = folder / JOURNAL
        if is_new:
            places.new_folder(folder)
        if not stat.S_ISDIR(self.path.parent.lstat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "the folder is a link, or a file")
        flags = os.O_RDWR | (os.O_CREAT if is_new else 0)
        for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
            flags |= getattr(os, name, 0)
        self._file = os.fdopen(os.open(self.path, flags, 0o600), "r+b")
        try:
            self._lock()
            self.files, self._is_finished = self._read()
        except BaseException:
            self._file.close()
            raise

    @property
    def is_cut_short(self) -> bool:
        """True if the rewrite was killed, so that some files may be new and others old."""
        return bool(self.files) and not self._is_finished

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
            self._to_disk()
            directory_to_disk(self.path.parent)
        except OSError as error:
            raise _no_journal(self.path, error) from error
        self.files, self._is_finished = files, False

    def finish(self) -> None:
        """Note that all files are replaced."""
        with contextlib.suppress(OSError):
            # Without this line the next rewrite puts all files back, which is safe too.
            self._file.write(_WRITTEN)
            self._to_disk()
        self._is_finished = True

    def put_back(self, never_replaced: Collection[int] = ()) -> int:
        """Put the old files back, unless somebody has edited one of them since.

        Args:
          never_replaced: the numbers of files that the rewrite did not replace.

        Returns:
          How many files had been replaced.

        Raises:
          JournalError: a file was edited, or cannot be written; the journal stays.
        """
        remove_left_of(*(self.folder / each.path for each in self.files))
        replaced: list[tuple[OldFile, bytes]] = []
        edited: list[str] = []
        for number, file in enumerate(self.files):
            now = _content(self.folder / file.path)
            if now == file.old or number in never_replaced:
                continue
            if now is not None and hashlib.sha256(now).hexdigest() == file.new:
                replaced.append((file, now))
            else:
                edited.append(file.path)
        if edited:
            raise self._edited(edited)
        failed = []
        for file, now in replaced:
            path = self.folder / file.path
            try:
                replacing_files.replace(Replacement(path, now, file.old), file.mtime_ns)
            except NotWritten as error:
                failed.append(f"{path} ({error})")
        if failed:
            raise JournalError(
                f"These old files cannot be put back: {', '.join(failed)}. Make them writable, and"
                " run the same command again."
            )
        self.files = []
        self._file.truncate(0)
        with contextlib.suppress(OSError):
            os.fsync(self._file.fileno())
        return len(replaced)

    def close(self) -> None:
        """Unlock the journal, and remove it unless it has files."""
        if sys.platform == "win32":
            self._file.close()
        if not self.files:
            with contextlib.suppress(OSError):
                self.path.unlink()
                directory_to_disk(self.path.parent)
            places.remove_folder(self.folder)
        self._file.close()

    def _to_disk(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

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
            # Another one ended, and removed the journal, between opening and locking.
            raise self._busy()

    def _busy(self) -> JournalError:
        return JournalError(f"Another rewrite is writing in {self.folder}: wait until it ends.")

    def _read(self) -> tuple[list[OldFile], bool]:
        status = os.fstat(self._file.fileno())
        is_mine = sys.platform == "win32" or status.st_uid == os.geteuid()
        if not stat.S_ISREG(status.st_mode) or not is_mine:
            raise self._foreign()
        text = self._file.read()
        is_finished = text.endswith(_WRITTEN)
        try:
            return self._parsed(text, is_finished), is_finished
        except Foreign:
            if not is_finished:
                raise
        # Nothing is to be put back: somebody has copied or moved the folder since.
        return [], False

    def _parsed(self, text: bytes, is_finished: bool) -> list[OldFile]:
        """The files in the text of a journal.

        Raises:
          Foreign: this user did not make it in this folder.
        """
        head = _HEAD.encode()
        if not text.startswith(head) and not head.startswith(text):
            raise self._foreign()
        try:
            content = json.loads(text[: -len(_WRITTEN)] if is_finished else text)
        except (ValueError, RecursionError):
            # The rewrite was killed while it wrote the journal, or the line behind it.
            content = _whole_line(text)
            if content is None:
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
            f"{self.path} has the name of a file that rewrite makes, but no rewrite of yours made"
            " it in this folder. Move it away or delete it, and run rewrite again. No file was"
            " changed."
        )

    def _edited(self, names: Sequence[str]) -> JournalError:
        """The error that files were edited, whose old content is kept beside the journal."""
        copies = []
        for file in self.files:
            if file.path in names:
                copy = self.path.with_name(f"before-{os.path.basename(file.path)}")
                with contextlib.suppress(OSError), appearing_file(copy, mode=0o600) as kept:
                    kept.write(file.old)
                copies.append(f"{self.folder / file.path} (before: {copy})")
        return JournalError(
            f"Somebody has changed files since they were rewritten: {', '.join(copies)}. Nothing"
            f" was put back. Make these files what they are to be, delete {self.path}, and go on."
        )

    def _old_file(self, change: Replacement) -> OldFile:
        path = Path(os.path.realpath(change.path.parent)) / change.path.name
        mtime_ns = path.lstat().st_mtime_ns if path.is_file() else 0
        new = hashlib.sha256(change.new).hexdigest()
        return OldFile(str(path.relative_to(self.folder)), mtime_ns, new, change.old)


def _whole_line(text: bytes) -> dict[str, object] | None:
    """The content of a journal whose last line was cut short."""
    line, _, rest = text.partition(b"\n")
    with contextlib.suppress(ValueError, RecursionError):
        if _WRITTEN[1:].startswith(rest):
            content: dict[str, object] = json.loads(line)
            return content
    return None


def _journals(paths: Iterable[Path], around: Iterable[Path]) -> Iterator[Journal]:
    """The journals in the folder of some paths, above it, and in some folders below."""
    folder = folder_of(paths)
    below = (Path(os.path.realpath(each)) for each in around)
    yield from _journals_in(sorted({folder, *folder.parents, *below}))


def _journals_in(folders: Iterable[Path]) -> Iterator[Journal]:
    for each in folders:
        # There is no journal, or it is another user's.
        with contextlib.suppress(OSError, Foreign):
            yield Journal(each)


def folder_of(paths: Iterable[Path]) -> Path:
    """The folder that all paths are in."""
    folders = [os.path.realpath(each if each.is_dir() else each.parent) for each in paths]
    try:
        return Path(os.path.commonpath(folders))
    except ValueError as error:
        raise JournalError(f"One rewrite cannot be about all of these paths: {error}.") from error


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
