"""The uses of optimizers in a run: their places in the program, in a file and read from it.

Each process writes a file of its own, with a line for each use at the moment of its first time, so
that a killed process has written all uses until then.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

# Where `run --observe` keeps what it saw, and `rewrite` the old files, below their folders.
FOLDER = ".flaxoptim_compat"
SUFFIX = ".uses"


# Kinds of parameters of which not every TrainState can be made: a single array, and an object
# without `in`.
ARRAY, OBJECT = "array", "object"


@dataclasses.dataclass(frozen=True)
class Position:
    """An expression in the text of a file, counted as ``ast`` counts.

    Args:
      file: its absolute path.
      line: the line where the expression begins; Python 3.10 knows no more than this.
      end_line: the line where it ends; 0 if that is not known.
      end_column: behind its last character, in bytes of UTF-8.
      digest: that of the text of the file, known once the use is read back.
    """

    file: str
    line: int
    end_line: int = 0
    end_column: int = 0
    digest: str = ""


@dataclasses.dataclass(frozen=True)
class Seen:
    """A use of an optimizer or a definition at a place in a program.

    Args:
      position: the attribute or, of what is made, the call.
      of: ``optimizer`` or ``definition``: the object that the program reads an attribute from;
        ``made``: the program makes a definition; ``created``: the program creates an optimizer.
      name: the attribute; with ``made``, the class of the definition; with ``created``, the kind of
        the parameters.
      made: where the definition of the object was made; None if in none of the files.
      axis: the axis over which a replicated optimizer averages its gradients.
    """

    position: Position
    of: Literal["optimizer", "definition", "made", "created"]
    name: str
    made: Position | None
    axis: str = ""


@dataclasses.dataclass(frozen=True)
class Uses:
    """All that runs have shown.

    Args:
      seen: each place once.
    """

    seen: frozenset[Seen] = frozenset()

    def __or__(self, other: Uses) -> Uses:
        return Uses(self.seen | other.seen)

    @functools.cached_property
    def files(self) -> Mapping[str, frozenset[str]]:
        """The files with places in them, each with the digests of the texts that were run."""
        by_file: dict[str, set[str]] = {}
        for use in self.seen:
            for position in filter(None, (use.position, use.made)):
                by_file.setdefault(position.file, set()).add(position.digest)
        return {file: frozenset(digests) for file, digests in by_file.items()}

    def is_of(self, file: str, digest: str) -> bool:
        """True if the file was run with this digest."""
        return digest in self.files.get(file, ())

    def of_today(self, digests: Mapping[str, str]) -> Uses:
        """The uses without those in files that were run again after a change.

        Args:
          digests: the digests of files now, by their full paths.
        """
        today = {file: text for file, text in digests.items() if self.is_of(file, text)}

        def is_past(position: Position | None) -> bool:
            return position is not None and today.get(position.file) not in (None, position.digest)

        return Uses(
            frozenset(
                use for use in self.seen if not is_past(use.position) and not is_past(use.made)
            )
        )


def from_here(file: str) -> str:
    """The path of a file from the current folder, if the file is below it."""
    inside = os.path.relpath(file)
    return file if inside.startswith(os.pardir) else inside


def digest(content: bytes) -> str:
    """The SHA-256 hash of the content of a file."""
    return hashlib.sha256(content).hexdigest()


def line_of_use(use: Seen) -> bytes:
    """The line on a use, in the file of a process."""
    made = None if use.made is None else dataclasses.astuple(use.made)
    return _line("seen", dataclasses.astuple(use.position), use.of, use.name, made, use.axis)


def line_of_file(file: str, content: bytes) -> bytes:
    """The line on a source file, with the digest of its content, in the file of a process."""
    return _line("file", file, digest(content))


def _line(*entry: Any) -> bytes:
    return f"{json.dumps(entry)}\n".encode()


def new_folder(below: Path | None = None) -> Path:
    """Make the folder for what the commands keep, in the current one; git ignores it."""
    folder = (Path.cwd() if below is None else below) / FOLDER
    folder.mkdir(exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    return folder


def remove_folder(below: Path) -> None:
    """Remove the folder that ``new_folder`` made, if nothing is kept in it."""
    folder = below / FOLDER
    with contextlib.suppress(OSError):
        if os.listdir(folder) == [".gitignore"]:
            (folder / ".gitignore").unlink()
            folder.rmdir()


def read(folder: Path, named: Callable[[str], str] = str) -> Uses:
    """The uses that all processes have written into a folder.

    Args:
      folder: the folder. What is damaged in it, or is no file, shows nothing.
      named: the path by which a file is known, for the one that a process ran.
    """
    seen: set[Seen] = set()
    for file in sorted(folder.rglob(f"*{SUFFIX}")):
        digests: dict[str, str] = {}
        # A pipe would be waited for.
        lines = file.read_bytes().split(b"\n")[:-1] if _is_plain(file) else []
        for line in lines:  # a line without an end was cut off
            with contextlib.suppress(ValueError, TypeError, RecursionError):
                seen |= _seen(json.loads(line), digests, named)
    return Uses(frozenset(seen))


def _is_plain(file: Path) -> bool:
    return stat.S_ISREG(file.lstat().st_mode) and os.access(file, os.R_OK)


def _seen(entry: Any, digests: dict[str, str], named: Callable[[str], str]) -> set[Seen]:
    """The use that a line tells of, if any; the digest of a file goes into ``digests``."""
    match entry:
        case ["file", str(name), str(digest_of_file)]:
            digests[name] = digest_of_file
        case [
            "seen",
            [*position],
            ("optimizer" | "definition" | "made" | "created") as of,
            str(name),
            ([*_] | None) as made,
            str(axis),
        ]:
            made_at = None if made is None else _position(made, digests, named)
            return {Seen(_position(position, digests, named), of, name, made_at, axis)}
    return set()


def _position(
    entry: list[Any], digests: Mapping[str, str], named: Callable[[str], str]
) -> Position:
    match entry:
        case [str(file), int(line), int(end_line), int(end_column), *_]:
            return Position(named(file), line, end_line, end_column, digests.get(file, ""))
    raise ValueError(f"no position: {entry!r:.80}")
