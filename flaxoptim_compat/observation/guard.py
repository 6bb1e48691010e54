"""Keeps a process of an observed command to the copy of the folder in which the command runs.

The imports of the process find the copy. Code of the original folder that runs anyway is reported.
And what exists outside of the copy stays as it is: Python tells an audit hook of each file before
it is opened for writing, renamed or deleted, and the hook raises an error. Libraries in C++ tell
nobody.

Some changes are let through: the times of a file, which hold no content, databases of SQLite that
exist, and what is written into files that were open already.
"""

from __future__ import annotations

import errno
import io
import json
import os
import sys

from flaxoptim_compat.observation.copied_folder import CopiedFolder, is_below
from flaxoptim_compat.observation.copied_imports import CopiedImports
from flaxoptim_compat.observation.own_report import SUFFIX, OwnReport

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType
    from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_TEMPORARY = ("/tmp", "/var/tmp", "/usr/tmp")
_DEVICES = ("/dev", "/proc", "/sys")
_CACHES = ("~/.cache", "~/Library/Caches")
# Variables with the folders of temporary files and of caches.
_VARIABLES = (
    "TMPDIR",
    "TEMP",
    "TMP",
    "XDG_CACHE_HOME",
    "MPLCONFIGDIR",
    "JAX_COMPILATION_CACHE_DIR",
)


class OutsideOfCopyError(PermissionError):
    """A program wants to change a file that is not in the copy in which the program runs."""


def start(text: str) -> Callable[[object], None]:
    """Keep this process to a copy; returns a function to call before each search for a module.

    Args:
      text: the copy, as ``CopiedFolder.to_environment`` writes it.
    """
    folder = CopiedFolder.from_environment(text)
    report = OwnReport(folder.reports)
    guard = Guard(folder, report)
    imports = CopiedImports(folder)
    handlers: dict[str, Callable[..., None]] = {
        "exec": guard.executes,
        "import": guard.loads,
        "open": guard.opens,
        "os.chmod": lambda path, mode, dir_fd: guard.changes(path, "changed", dir_fd),
        "os.chown": lambda path, uid, gid, dir_fd: guard.changes(path, "changed", dir_fd),
        "os.exec": lambda path, *_: report.write(becomes=os.fsdecode(path)),
        "os.kill": report.note_signal,
        "os.killpg": report.note_signal,
        "os.link": lambda _, path, __, dir_fd: guard.makes(path, dir_fd),
        "os.mkdir": lambda path, _, dir_fd: guard.makes(path, dir_fd),
        "os.remove": lambda path, dir_fd: guard.changes(path, "deleted", dir_fd),
        "os.rename": guard.renames,
        "os.rmdir": lambda path, dir_fd: guard.changes(path, "deleted", dir_fd),
        "os.symlink": lambda _, path, dir_fd: guard.makes(path, dir_fd),
        "os.truncate": lambda path, _: guard.changes(path, "overwritten", follows=True),
        "shutil.rmtree": lambda path, dir_fd=None: guard.changes(path, "deleted", dir_fd),
        "sqlite3.connect": guard.connects,
        "sys.excepthook": lambda _, kind, error, __: report.note_error(kind, error),
    }

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in handlers:
            try:
                handlers[event](*args)
            except OutsideOfCopyError:
                raise
            except Exception:
                # Paths that are none, a current folder that is gone, the end of the interpreter:
                # Python goes on as without this hook.
                pass

    # What several processes print into one file is compared by whole lines.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # there may be none
            stream.reconfigure(line_buffering=True)
    imports.before_search(None)
    report.watch_the_end()
    sys.addaudithook(hook)
    return imports.before_search


class Guard:
    """Judges what a process is about to do with files.

    Args:
      folder: the folder and its copy.
      report: where the process reports.
    """

    def __init__(self, folder: CopiedFolder, report: OwnReport) -> None:
        self._folder = folder
        self._report = report
        self._originals = tuple(folder.original)
        self._made = set(folder.made_before)
        self._reported: set[tuple[str, str]] = set()
        self._real: dict[str, str] = {}
        named = [*_TEMPORARY, *map(os.path.expanduser, _CACHES)]
        named += [os.environ[name] for name in _VARIABLES if os.environ.get(name)]
        self._free = [os.path.realpath(folder.reports), *map(os.path.realpath, named)]

    def executes(self, code: CodeType) -> None:
        """Report a file of the original whose code is about to run."""
        self.loads(None, code.co_filename)

    def loads(self, _: object, file: str | None, *more: object) -> None:
        """Report a file of the original that is about to be loaded, also a compiled module."""
        if file is None or file.startswith("<"):
            return
        file = os.path.abspath(file)
        place, name = os.path.split(file)
        if place not in self._real:
            self._real[place] = os.path.realpath(place)
        real = os.path.join(self._real[place], name)
        if is_below(real, [self._folder.copy]):
            real = os.path.realpath(real)  # the file itself may be a link
        if self._folder.relative(real) is not None or self._folder.relative(file) is not None:
            self._tell("executed", real)

    def opens(self, path: Any, mode: object, flags: int) -> None:
        """Judge the opening of a file."""
        if not flags & _WRITING:
            return
        place = self._outside(path, follows=True)
        if place is None:
            return
        if not os.path.exists(place):
            if flags & os.O_CREAT:
                self._make(place)
        # Python itself refuses a new file in the place of an existing one, and a folder. A pipe or
        # a socket is nothing that is overwritten.
        elif not (flags & os.O_CREAT and flags & os.O_EXCL) and os.path.isfile(place):
            self._change(place, "overwritten")

    def changes(
        self, path: Any, what: str, dir_fd: int | None = None, follows: bool = False
    ) -> None:
        """Judge a change of something that exists.

        Args:
          path: its path.
          what: what is done to it, as a participle.
          dir_fd: the open folder from which the path is counted.
          follows: whether what a link names is changed, and not the link.
        """
        place = self._outside(path, dir_fd, follows)
        if place is not None and os.path.lexists(place):
            self._change(place, what)

    def makes(self, path: Any, dir_fd: int | None = None) -> None:
        """Judge the making of something new, which Python refuses where something exists."""
        place = self._outside(path, dir_fd)
        if place is not None and not os.path.lexists(place):
            self._make(place)

    def renames(self, source: Any, target: Any, source_fd: int, target_fd: int) -> None:
        """Judge both ends of a renaming."""
        self.changes(source, "renamed", source_fd)
        self.changes(target, "overwritten", target_fd)
        self.makes(target, target_fd)

    def connects(self, database: Any) -> None:
        """Judge the making of a database.

        One that exists may be changed: nothing tells whether a program will write there, and most
        only read, such as the history of a notebook.
        """
        name = os.fsdecode(database)
        if name not in ("", ":memory:") and not name.startswith("file:"):
            self.makes(os.path.realpath(name))

    def _outside(self, path: Any, dir_fd: int | None = None, follows: bool = False) -> str | None:
        """The real path of what is neither in the copy nor free to be changed."""
        if isinstance(path, int):
            return None  # it was opened before
        name = os.fsdecode(path)
        if dir_fd not in (None, -1):
            name = os.path.join(os.readlink(f"/proc/self/fd/{dir_fd}"), name)
        name = os.path.abspath(name)
        if is_below(name, _DEVICES) and not is_below(name, self._originals):
            return None  # /dev/stdout is a link to whatever the output goes to
        if follows:
            real = os.path.realpath(name)
        else:
            real = os.path.join(os.path.realpath(os.path.dirname(name)), os.path.basename(name))
        if real.endswith(".pyc") or f"{os.sep}__pycache__{os.sep}" in real:
            return None
        if is_below(real, [self._folder.copy]):
            return None
        if is_below(real, self._originals):
            return real  # even if all of it is in a temporary folder
        return None if is_below(real, self._free_now()) else real

    def _free_now(self) -> list[str]:
        jax = sys.modules.get("jax")
        cache = getattr(getattr(jax, "config", None), "jax_compilation_cache_dir", None)
        return [*self._free, os.path.realpath(cache)] if isinstance(cache, str) else self._free

    def _make(self, place: str) -> None:
        if self._folder.relative(place) is not None:
            self._refuse(place, "made", "no file of the folder itself is made")
        if not is_below(place, self._made):
            self._made.add(place)
            self._tell("made", place)

    def _change(self, place: str, what: str) -> None:
        if not self._is_made(place):
            self._refuse(place, what, f"no file that exists elsewhere is {what}")

    def _refuse(self, place: str, what: str, why: str) -> None:
        self._tell("refused", place, what=what)
        raise OutsideOfCopyError(
            errno.EPERM,
            f"For a proof, the program runs in a copy of its folder, and {why}."
            " Let the program write below its current folder, such as by a relative --workdir",
            place,
        )

    def _is_made(self, place: str) -> bool:
        """Whether this process, or another one of the same proof, has made something."""
        if not is_below(place, self._made):
            self._made.update(made_by_all(self._folder.reports))
        return is_below(place, self._made)

    def _tell(self, kind: str, place: str, **more: str) -> None:
        if (kind, place) not in self._reported:
            self._reported.add((kind, place))
            self._report.write(**{kind: place}, **more)


def made_by_all(reports: str) -> Iterator[str]:
    """What the processes have made outside of the copy, by their reports so far."""
    for name in os.listdir(reports):
        if name.endswith(SUFFIX):
            with open(os.path.join(reports, name), encoding="utf-8") as lines:
                for line in lines:
                    if line.startswith('{"made":') and line.endswith("\n"):
                        yield json.loads(line)["made"]
