"""From a file to a document, or to the reason why it is none; and where documents wait."""

from __future__ import annotations

import ast
import dataclasses
import io
import os
import re
import stat
import tokenize
from pathlib import Path

from flaxoptim_compat.migrate.program.document import Document, Unparsable, parse
from flaxoptim_compat.migrate.program.files import FoundFile
from flaxoptim_compat.migrate.program.notebooks import Notebook
from flaxoptim_compat.migrate.program.source_text import (
    Origin,
    Place,
    Unreadable,
    decode,
)

_BETWEEN = {tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def parse_gin(text: str) -> ast.Module:
    """The statements of gin as a module of as many ``pass``: rules for Python find nothing in it.

    Args:
      text: of the file.

    Raises:
      Unparsable: gin could not read it either.
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
      file: where it is.
      source: its bytes.
      document: its Python.
      origin: the way between the two.
      off_limits: why ``rewrite`` leaves it alone; "" if it does not.
      broken: the cells of a notebook that are no Python.
      unknown: what is named in cells of other languages.
    """

    file: FoundFile
    source: bytes
    document: Document
    origin: Origin
    off_limits: str
    broken: list[tuple[Place, str]]
    unknown: list[tuple[Place, str]]


def load(file: FoundFile, source: bytes) -> Loaded:
    """Read a file of Python or of gin, or a notebook.

    Raises:
      Unreadable: it is none of them.
    """
    origin: Origin
    magics: dict[int, str] = {}
    if file.path.suffix == ".ipynb":
        origin = notebook = Notebook(source)
        text, off_limits, broken, unknown = notebook.text, "", notebook.broken, notebook.unknown
        magics = notebook.magics
    else:
        origin = python = decode(source)
        text, broken, unknown = python.text, [], []
        off_limits = (
            "" if python.encoding == "utf-8" else f"it is in {python.encoding}, not in UTF-8"
        )
    try:
        tree = parse_gin(text) if file.path.suffix == ".gin" else parse(text)
    except Unparsable as error:
        raise Unreadable(str(error)) from error
    document = Document(file.path, text, tree, file.module, file.is_package, magics)
    if document.is_too_deep:
        raise Unreadable("it is nested too deeply")
    off_limits = file.off_limits or off_limits or _why_off_limits(file, source)
    if broken:
        off_limits = off_limits or "a cell of it is no Python"
    return Loaded(file, source, document, origin, off_limits, broken, unknown)


def check_rewritten(loaded: Loaded, source: bytes) -> None:
    """See that a text of Python, which is known to be that, comes out of new bytes of a file.

    Raises:
      Unreadable: it does not.
    """
    if isinstance(loaded.origin, Notebook) or loaded.document.is_gin:
        load(loaded.file, source)
    else:
        decode(source)


def _why_off_limits(file: FoundFile, source: bytes) -> str:
    head = b"\n".join(source.split(b"\n", 10)[:10])
    if file.path.suffix != ".ipynb" and _GENERATED.search(head):
        return "it is generated, as its first lines say"
    return "it is read-only" if is_read_only(file.path) else ""


def is_read_only(path: Path) -> bool:
    """Whether a file is not to be written to."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    # root may write into everything, but a file without the bit is not meant to be.
    is_writable = mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    return not is_writable or not os.access(path, os.W_OK)


# In bytes of their sources. A parsed file takes up to a hundred times as much memory.
MOST_WAITING = 5_000_000


class Waiting:
    """Files by their numbers, as many as there is room for."""

    def __init__(self) -> None:
        self._loaded: dict[int, Loaded] = {}
        self._room = MOST_WAITING

    def __contains__(self, number: int) -> bool:
        return number in self._loaded

    def keep(self, number: int, loaded: Loaded) -> None:
        """Keep a file if there is room; else it is to be read again when it is needed."""
        if len(loaded.source) <= self._room:
            self._room -= len(loaded.source)
            self._loaded[number] = loaded

    def take(self, number: int) -> Loaded | None:
        """A file, which is not kept any more; None if there was no room for it."""
        loaded = self._loaded.pop(number, None)
        if loaded is not None:
            self._room += len(loaded.source)
        return loaded
