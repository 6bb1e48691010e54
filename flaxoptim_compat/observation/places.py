"""The places of a program's text at which a run used optimizers, in a file and read from it.

Each process writes a file of its own, one line for each place, the moment that it is first seen:
a process that is killed has written all that it saw.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

# Where `run --observe` keeps what it saw, below the folder in which it is called.
FOLDER = ".flaxoptim_compat"
SUFFIX = ".uses"


# Kinds of parameters of which not every TrainState can be made: a single array, an object that does
# not know what `in` means, and whole numbers among others.
ARRAY, OBJECT, WHOLE = "array", "object", "whole numbers"


@dataclasses.dataclass(frozen=True)
class Position:
    """An expression in the text of a file, counted as ``ast`` counts.

    Args:
      file: its absolute path.
      line: where the expression begins; Python 3.10 knows no more than this.
      end_line: where it ends; 0 if that is not known.
      end_column: behind its last character, in bytes of UTF-8.
      digest: of the text of the file, once it is read back.
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
      of: what was asked: an optimizer or a definition; or that a definition was made there, or an
        optimizer created.
      name: the attribute; of a definition that was made its class; of what an optimizer was created
        for, the kind of parameters.
      made: where the definition was made that the object has or is; None: in none of the files.
      axis: that over which an optimizer averages its gradients, since it replicated itself.
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
        found: dict[str, set[str]] = {}
        for each in self.seen:
            for position in filter(None, (each.position, each.made)):
                found.setdefault(position.file, set()).add(position.digest)
        return {file: frozenset(digests) for file, digests in found.items()}

    def is_of(self, file: str, digest: str) -> bool:
        """True if the file was run with this digest."""
        return digest in self.files.get(file, ())

    def of_today(self, digests: Mapping[str, str]) -> Uses:
        """The uses seen in files as they are now, and in those that have not been run since.

        Args:
          digests: of files, by their full paths.
        """
        now = {file: each for file, each in digests.items() if self.is_of(file, each)}

        def is_past(position: Position | None) -> bool:
            return position is not None and now.get(position.file) not in (None, position.digest)

        return Uses(
            frozenset(
                each for each in self.seen if not is_past(each.position) and not is_past(each.made)
            )
        )


def from_here(file: str) -> str:
    """A file as people call it: from the current folder, if it is below."""
    inside = os.path.relpath(file)
    return file if inside.startswith(os.pardir) else inside


def digest(content: bytes) -> str:
    """The SHA-256 hash of a content, which tells it from others."""
    return hashlib.sha256(content).hexdigest()


def line_of(one: Seen | tuple[str, str]) -> bytes:
    """A line of the file of a process: a place, or a file and its digest."""
    if isinstance(one, Seen):
        made = None if one.made is None else dataclasses.astuple(one.made)
        entry = ["seen", dataclasses.astuple(one.position), one.of, one.name, made, one.axis]
    else:
        entry = ["file", *one]
    return f"{json.dumps(entry)}\n".encode()


def new_folder() -> Path:
    """The folder in which runs of programs here keep what they saw; git does not look into it."""
    folder = Path.cwd() / FOLDER
    folder.mkdir(exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    return folder


def read(folder: Path) -> Uses:
    """The uses that all processes have written into a folder."""
    seen: set[Seen] = set()
    for file in folder.rglob(f"*{SUFFIX}"):
        digests: dict[str, str] = {}
        for line in file.read_bytes().split(b"\n")[:-1]:  # what has no end was cut off
            with contextlib.suppress(ValueError):  # of no use, whoever wrote it
                seen |= _seen(json.loads(line), digests)
    return Uses(frozenset(seen))


def _seen(entry: Any, digests: dict[str, str]) -> set[Seen]:
    """The use that a line tells of, if any; the digest of a file goes into ``digests``."""
    match entry:
        case ["file", str(name), str(of)]:
            digests[name] = of
        case ["seen", [*position], ("optimizer" | "definition" | "made" | "created") as of, *rest]:
            name, made, axis = rest
            place = None if made is None else _position(made, digests)
            return {Seen(_position(position, digests), of, name, place, axis)}
    return set()


def _position(entry: list[Any], digests: Mapping[str, str]) -> Position:
    file, line, end_line, end_column, *_ = entry
    return Position(file, line, end_line, end_column, digests.get(file, ""))
