"""The files of a run: found, and loaded as documents or refused with a reason."""

from __future__ import annotations

import ast
import dataclasses
import io
import os
import re
import stat
import tokenize
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.atomic import unfinished
from flaxoptim_compat.catalogue import MODULES
from flaxoptim_compat.migrate.program.document import TOO_DEEP, Document, Unparsable, parse
from flaxoptim_compat.migrate.program.notebooks import Notebook
from flaxoptim_compat.migrate.program.source_text import PythonFile, Unreadable, decode
from flaxoptim_compat.observation.places import FOLDER

SUFFIXES = (".py", ".pyi", ".ipynb", ".gin")
# Folders of installed or built code. A virtual environment is recognised by its pyvenv.cfg.
_NOT_THE_PROGRAM = {
    "__pycache__",
    "build",
    "dist",
    "dist-packages",
    "node_modules",
    "site-packages",
    "venv",
}
_VENDORED = {"_vendor", "_vendored", "third_party", "vendor", "vendored"}
_OPTIM = re.compile(rf"flax/optim/(__init__|{'|'.join(MODULES)})\.py$")
EXCLUDED = "excluded by the settings"
READ_ONLY = "the file is read-only"
# The names of files that a killed rewrite leaves.
UNFINISHED = unfinished(r".+\.(?:py|pyi|ipynb|gin)")


class FoundFile(NamedTuple):
    """One file to read.

    Args:
      path: the path for people: below the path that the user named.
      module: the dotted name below the root of the run; no two files have the same.
      is_package: whether the file is the ``__init__.py`` of that module.
      off_limits: why ``rewrite`` leaves the file alone; "" if its place is no reason.
    """

    path: Path
    module: str
    is_package: bool
    off_limits: str


class FoundFiles:
    """The files below some paths, in a fixed order, and what was not entered or read.

    Args:
      paths: files and folders.
      is_excluded: whether the user's settings leave a path out.
    """

    def __init__(self, paths: Iterable[Path], is_excluded: Callable[[Path], bool]) -> None:
        self.files: list[FoundFile] = []
        self.left_out: list[tuple[Path, str]] = []
        self.unreadable: list[tuple[Path, str]] = []
        self.unfinished: list[Path] = []
        # The folders in which earlier commands have kept something.
        self.kept_in: list[Path] = []
        self._is_excluded = is_excluded
        self._seen: set[str] = set()
        paths = list(paths)
        self._root = _root_of(paths)
        for path in paths:
            if os.path.isdir(path):
                self._walk(path, path)
            elif os.path.isfile(path) and path.suffix and not path.name.endswith(SUFFIXES):
                # A script may have no suffix.
                self.unreadable.append((path, f"the name ends in none of {', '.join(SUFFIXES)}"))
            elif os.path.isfile(path):
                self._add(path, os.path.islink(path))
            else:
                self.unreadable.append((path, _why_no_file(path)))

    def _walk(self, folder: Path, top: Path) -> None:
        try:
            with os.scandir(folder) as entries:
                ordered = sorted(entries, key=lambda each: each.name)
        except OSError as error:
            self.unreadable.append((folder, error.strerror or str(error)))
            return
        for entry in ordered:
            path = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                self._enter(path, top)
            elif UNFINISHED.fullmatch(entry.name):
                self.unfinished.append(path)
            elif entry.is_symlink():
                self._link(path, top)
            elif entry.name.endswith(SUFFIXES) and entry.is_file():
                self._add(path, is_link=False)

    def _enter(self, folder: Path, top: Path) -> None:
        if folder.name == FOLDER:
            self.kept_in.append(folder.parent)
        if folder.name.startswith("."):
            return
        if folder.name in _NOT_THE_PROGRAM or os.path.exists(folder / "pyvenv.cfg"):
            if folder.name != "__pycache__":
                self.left_out.append((folder, "by its name, the folder is no part of the program"))
        elif self._is_excluded(folder):
            self.left_out.append((folder, EXCLUDED))
        else:
            self._walk(folder, top)

    def _link(self, path: Path, top: Path) -> None:
        """Note a link that leads out of the path that the user named."""
        target = Path(os.path.realpath(path))
        is_inside = target.is_relative_to(os.path.realpath(top))
        if not is_inside and (path.name.endswith(SUFFIXES) or os.path.isdir(target)):
            self.left_out.append((path, f"a link to {target}"))

    def _add(self, path: Path, is_link: bool) -> None:
        # The settings count for a named file too, since pre-commit names all files.
        if self._is_excluded(path):
            self.left_out.append((path, EXCLUDED))
            return
        real = os.path.realpath(path.parent if not is_link else path)
        key = real if is_link else os.path.join(real, path.name)
        if key in self._seen:
            return
        self._seen.add(key)
        module, is_package = _module(path, self._root)
        off_limits = "the file is a link" if is_link else _why_off_limits(path)
        self.files.append(FoundFile(path, module, is_package, off_limits))


def _why_no_file(path: Path) -> str:
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return "there is no such file or folder"
    except OSError as error:
        return error.strerror or str(error)
    is_link = stat.S_ISLNK(status.st_mode)
    return "the path is a link to nothing" if is_link else "the path is no regular file"


def _root_of(paths: Iterable[Path]) -> Path:
    """The folder below which the names of modules start.

    The folder is the current one if all paths are in there, else the one that all paths are in; if
    that is a package, the first folder above that is none.
    """
    folders = [
        Path(os.path.abspath(path if os.path.isdir(path) else path.parent)) for path in paths
    ]
    here = Path.cwd()
    if all(folder.is_relative_to(here) for folder in folders):
        folder = here
    else:
        folder = Path(os.path.commonpath(folders))
    while os.path.exists(folder / "__init__.py") and folder.parent != folder:
        folder = folder.parent
    return folder


def _module(path: Path, root: Path) -> tuple[str, bool]:
    parts = Path(os.path.abspath(path)).relative_to(root).with_suffix("").parts
    is_package = path.name == "__init__.py"
    return ".".join(parts[:-1] if is_package else parts), is_package


def _why_off_limits(path: Path) -> str:
    """The reason why the place of a file keeps it from being rewritten; "" if it does not."""
    absolute = Path(os.path.abspath(path))
    if _OPTIM.search(absolute.as_posix()):
        return "the file is a copy of flax.optim itself"
    here = Path.cwd()
    # The folders above the project say nothing about the file.
    below = absolute.relative_to(here) if absolute.is_relative_to(here) else path
    vendored = next((each for each in below.parts[:-1] if each in _VENDORED), "")
    return f"the file is a copy of other people's code, in {vendored}" if vendored else ""


_BETWEEN = {tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def parse_gin(text: str) -> ast.Module:
    """A module with a ``pass`` for each statement of gin, in which rules for Python find nothing.

    Args:
      text: the text of the file.

    Raises:
      Unparsable: gin could not read the text either.
    """
    body: list[ast.stmt] = []
    first: tuple[int, int] | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NEWLINE and first is not None:
                line, column = token.start
                span = {"lineno": first[0], "col_offset": first[1]}
                body.append(ast.Pass(**span, end_lineno=line, end_col_offset=column))
                first = None
            elif first is None and token.type not in _BETWEEN:
                first = token.start
    except tokenize.TokenError as error:
        raise Unparsable(error.args[1][0], error.args[0]) from error
    except SyntaxError as error:
        raise Unparsable(error.lineno or 0, error.msg) from error
    return ast.Module(body, [])


_GENERATED = re.compile(
    rb"@generated\b|\bdo not (?:edit|modify)\b"
    rb"|^\W*(?:code |this file is |auto-?)?generated (?:by|from)\b",
    re.IGNORECASE | re.MULTILINE,
)


@dataclasses.dataclass(eq=False)
class Loaded:
    """A file that was read.

    Args:
      file: the file.
      source: the bytes of the file.
      document: the Python of the file.
      origin: the way between the bytes and the Python.
      off_limits: why ``rewrite`` leaves the file alone; "" if it does not.
    """

    file: FoundFile
    source: bytes
    document: Document
    origin: PythonFile | Notebook
    off_limits: str


def load(file: FoundFile, source: bytes) -> Loaded:
    """The document of a file of Python or gin, or of a notebook.

    Raises:
      Unreadable: the file is none of these; the message says why.
    """
    is_notebook = file.path.suffix == ".ipynb"
    origin = Notebook(source) if is_notebook else decode(source)
    try:
        tree = parse_gin(origin.text) if file.path.suffix == ".gin" else parse(origin.text)
    except Unparsable as error:
        raise Unreadable(str(error)) from error
    magics = origin.magics if isinstance(origin, Notebook) else {}
    document = Document(file.path, origin.text, tree, file.module, file.is_package, magics)
    if document.is_too_deep:
        raise Unreadable(TOO_DEEP)
    off_limits = file.off_limits or _why_not_written(file, source, origin)
    return Loaded(file, source, document, origin, off_limits)


def check_rewritten(loaded: Loaded, source: bytes) -> None:
    """Raise unless the new bytes of a file can be read again.

    Raises:
      ValueError: they cannot, by a mistake of the rules.
    """
    try:
        if isinstance(loaded.origin, Notebook) or loaded.document.is_gin:
            load(loaded.file, source)
        else:
            decode(source)
    except Unreadable as error:
        raise ValueError(f"the result cannot be read, {error}") from error


def _why_not_written(file: FoundFile, source: bytes, origin: PythonFile | Notebook) -> str:
    head = b"\n".join(source.split(b"\n", 10)[:10])
    if isinstance(origin, Notebook):
        if origin.broken:
            return "a cell of the notebook is no Python"
    elif origin.encoding != "utf-8":
        return f"the file is in {origin.encoding}, not in UTF-8"
    elif _GENERATED.search(head):
        return "the file is generated, as its first lines say"
    return READ_ONLY if is_read_only(file.path) else ""


def is_read_only(path: Path) -> bool:
    """True if the permissions of a file forbid to write to it."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    # root may write into every file, but a file without the bit is not meant to be written.
    is_writable = mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    return not is_writable or not os.access(path, os.W_OK)


# The bytes of sources whose documents wait. A document takes up to a hundred times as much memory.
MOST_WAITING = 5_000_000


class Waiting:
    """Loaded files that wait until they are needed, as many as there is room for."""

    def __init__(self) -> None:
        self._loaded: dict[int, Loaded] = {}
        self._room = MOST_WAITING

    def keep(self, number: int, loaded: Loaded) -> None:
        """Keep a file if there is room; else it has to be read again."""
        if len(loaded.source) <= self._room:
            self._room -= len(loaded.source)
            self._loaded[number] = loaded

    def take(self, number: int) -> Loaded | None:
        """Remove a file and return it; None if there was no room for it."""
        loaded = self._loaded.pop(number, None)
        if loaded is not None:
            self._room += len(loaded.source)
        return loaded
