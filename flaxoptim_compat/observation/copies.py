"""Copies of the user's folder, in which observed commands run, so that nothing of the user changes.

A copy has the files, with checkpoints and data. It has no version control, caches or folders of
``run --observe``. Virtual environments, and the folders that are to be shared, are links to those
of the user. All copies of one folder stand at the same path, one after the other, so that what a
program makes of its path is the same in all of them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from flaxoptim_compat.observation import watchdog
from flaxoptim_compat.observation.places import FOLDER

if sys.platform != "win32":
    import fcntl

# A larger folder is not copied: its data has to be shared.
MOST_BYTES = 1 << 30
# So many of the largest parts are named.
_PARTS = 3
# A part is looked into as long as one of its own has nearly all of its bytes.
_NEARLY_ALL = 0.9
_LEFT_OUT = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
    | {".hypothesis", ".tox", ".nox", ".ipynb_checkpoints", "node_modules", FOLDER}
)
# What makes a folder a virtual environment.
_ENVIRONMENT = ("pyvenv.cfg", "conda-meta")
# The request by which Linux shares the blocks of a file with another one, where file systems can.
_FICLONE = 0x40049409

# The content that files are to have in a copy, by their paths in it; None: the file is to be gone.
Sources = Mapping[Path, "bytes | None"]


class CopyError(Exception):
    """A folder cannot be copied; the message says why, and what to do."""


class Copies:
    """Copies of a folder, which are gone after the block.

    Args:
      folder: the folder.
      shared: the folders and files in it that copies have as links, by their paths in it.

    Raises:
      CopyError: the folder is too large, or cannot be copied.
    """

    def __init__(self, folder: Path, shared: Sequence[Path] = ()) -> None:
        self.folder = Path(os.path.realpath(folder))
        if self.folder == Path(self.folder.anchor):
            raise CopyError(
                f"A proof copies the folder that has all that is named, and that is {self.folder}."
                " Go to the folder of the program, and name paths below it."
            )
        # The paths that are links to the user's own files.
        self.linked: list[Path] = list(shared)
        self._files: list[Path] = []
        self._folders: list[Path] = []
        self._links: list[Path] = []
        sizes: dict[Path, int] = {}
        for path in shared:
            if not (self.folder / path).exists():
                raise CopyError(f"There is no {self.folder / path} to share.")
        self._survey(Path(), sizes)
        size = sizes.get(Path(), 0)
        if size > MOST_BYTES:
            raise CopyError(_too_large(self.folder, sizes))
        self.top = Path(os.path.realpath(tempfile.mkdtemp(prefix="flaxoptim-compat-")))
        self._watchdog = watchdog.start(self.top)
        self.copy = self.top / "run" / (self.folder.name or "root")
        self._pristine = self.top / "as_it_was"
        try:
            free = shutil.disk_usage(self.top).free
            if free < 3 * size:
                raise CopyError(
                    f"{self.top.parent} has {_amount(free)} free, and three copies of"
                    f" {self.folder} need {_amount(3 * size)}. Set TMPDIR to a larger disk."
                )
            self._fill()
        except OSError as error:
            self.close()
            raise CopyError(f"{self.folder} cannot be copied: {error}") from error
        except BaseException:
            self.close()
            raise

    def fresh(self, sources: Sources) -> Path:
        """A copy of the folder as it was at first, but for some files; the one before is gone."""
        _remove(self.copy)
        self.copy.parent.mkdir(exist_ok=True)
        _copy_tree(self._pristine, self.copy)
        for path, content in sources.items():
            file = self.copy / path
            if content is None:
                file.unlink(missing_ok=True)
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        return self.copy

    def put_away(self, name: str) -> Path:
        """Keep the copy, with what a command made in it, under another name."""
        kept = self.top / name
        _remove(kept)
        self.copy.rename(kept)
        return kept

    @property
    def pristine(self) -> Path:
        """The folder as it was at first; no command runs there."""
        return self._pristine

    def of_user(self, path: str) -> str:
        """The path in the user's folder for one in the copy; others as they are."""
        below = os.path.relpath(path, self.copy) if path.startswith(str(self.copy)) else ".."
        return path if below.startswith("..") else str(self.folder / below)

    def close(self) -> None:
        """Remove all copies, and end what still runs in one."""
        watchdog.end_all(self.top)
        _remove(self.top)
        self._watchdog.kill()
        self._watchdog.wait()
        if self._watchdog.stdin is not None:
            self._watchdog.stdin.close()

    def __enter__(self) -> Copies:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _survey(self, below: Path, sizes: dict[Path, int]) -> None:
        """Note what is to be copied and what is to be linked, and add up the sizes."""
        waiting = [below]
        while waiting:
            folder = waiting.pop()
            self._folders.append(folder)
            try:
                entries = list(os.scandir(self.folder / folder))
            except OSError:
                continue  # neither the program nor a copy can read it
            for entry in entries:
                path = folder / entry.name
                if entry.is_symlink() or path in self.linked:
                    self._links.append(path)
                elif entry.name in _LEFT_OUT:
                    continue
                elif entry.is_dir():
                    if _is_environment(Path(entry.path)):
                        self.linked.append(path)
                        self._links.append(path)
                    else:
                        waiting.append(path)
                elif entry.is_file() and os.access(entry.path, os.R_OK):
                    self._files.append(path)
                    size = entry.stat().st_size
                    for each in (path, *path.parents):
                        sizes[each] = sizes.get(each, 0) + size

    def _fill(self) -> None:
        for folder in self._folders:
            (self._pristine / folder).mkdir(parents=True)
        for path in self._files:
            with contextlib.suppress(FileNotFoundError):  # a file that comes and goes
                _copy_file(self.folder / path, self._pristine / path)
        for path in self._links:
            self._link(path)
        # After the files, which change the times of their folders.
        for folder in reversed(self._folders):
            shutil.copystat(self.folder / folder, self._pristine / folder)

    def _link(self, path: Path) -> None:
        """Make a link of the copy: to the same place below the folder, or to the user's own."""
        target = self.folder / path
        if path not in self.linked:
            written = os.readlink(target)
            where = os.path.normpath(os.path.join(target.parent, written))
            if _is_below(where, self.folder):
                # In a copy the link is to lead into the copy.
                relative = os.path.relpath(where, target.parent)
                os.symlink(relative, self._pristine / path)
                return
            target = Path(where)
        os.symlink(target, self._pristine / path)


def is_left_out(folder: Path) -> bool:
    """True for a folder that a copy has not, or as a link: a cache or a virtual environment."""
    return folder.name in _LEFT_OUT or _is_environment(folder)


def _is_environment(folder: Path) -> bool:
    return any(os.path.lexists(folder / each) for each in _ENVIRONMENT)


def _is_below(path: str, folder: Path) -> bool:
    return path == str(folder) or path.startswith(os.path.join(folder, ""))


def _copy_tree(source: Path, copy: Path) -> None:
    def copied(first: str, second: str) -> str:
        _copy_file(Path(first), Path(second))
        return second

    shutil.copytree(source, copy, symlinks=True, copy_function=copied)


def _copy_file(source: Path, copy: Path) -> None:
    """Copy a file with its mode and its times, without its blocks where the file system can."""
    with source.open("rb") as old, copy.open("xb") as new:
        if not _shares_blocks(old.fileno(), new.fileno()):
            shutil.copyfileobj(old, new, 1 << 20)
    shutil.copystat(source, copy)
    # What the program may write in the user's folder it may write here.
    copy.chmod(stat.S_IMODE(copy.stat().st_mode) | stat.S_IWUSR)


def _shares_blocks(old: int, new: int) -> bool:
    if sys.platform != "linux":
        return False
    try:
        fcntl.ioctl(new, _FICLONE, old)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EIO):
            raise
        return False
    return True


def _remove(folder: Path) -> None:
    """Remove a folder, with what a program has made read-only in it."""
    with contextlib.suppress(OSError):
        for top, folders, _ in os.walk(folder):
            for each in folders:
                if not os.path.islink(path := os.path.join(top, each)):
                    os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _too_large(folder: Path, sizes: Mapping[Path, int]) -> str:
    parts = list(_heavy_parts(sizes))
    shares = " ".join(f"--share {path.as_posix()}" for path, _ in parts)
    lines = [f"  {path.as_posix()}  {_amount(size)}" for path, size in parts]
    return "\n".join(
        [
            f"{folder} has {_amount(sizes[Path()])}, and a proof copies at most"
            f" {_amount(MOST_BYTES)}. The largest parts:",
            *lines,
            f"Add {shares}, which links these instead of copying them.",
        ]
    )


def _heavy_parts(sizes: Mapping[Path, int]) -> Iterator[tuple[Path, int]]:
    children: dict[Path, list[Path]] = {}
    for path in sizes:
        if path != Path():
            children.setdefault(path.parent, []).append(path)
    largest = sorted(children[Path()], key=lambda path: sizes[path], reverse=True)
    left = sizes[Path()]
    for part in largest[:_PARTS]:
        if left <= MOST_BYTES:
            return
        left -= sizes[part]
        path = part
        while below := [
            each for each in children.get(path, ()) if sizes[each] >= _NEARLY_ALL * sizes[path]
        ]:
            if below[0] not in children:
                break  # a file: the folder around it is what people know
            path = below[0]
        yield path, sizes[path]


def _amount(size: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}".replace(".0 ", " ")
    return f"{size:,} bytes"
