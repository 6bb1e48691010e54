"""The places of a program's text at which a run used optimizers, in a file and read from it.

Each process writes a file of its own, one line for each place, the moment that it is first seen:
a process that is killed has written all that it saw.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

# Where `run --observe` keeps what it saw, below the folder in which it is called.
FOLDER = ".flaxoptim_compat"
SUFFIX = ".uses"


# Kinds of parameters of which not every TrainState can be made: a single array, an object that does
# not know what `in` means, whole numbers among others, and a model of flax.nn.
ARRAY, OBJECT, WHOLE, MODEL = "array", "object", "whole numbers", "model"


@dataclasses.dataclass(frozen=True)
class Position:
    """An expression in the text of a file, counted as ``ast`` counts.

    Args:
      file: its absolute path.
      line: where the expression begins; Python 3.10 knows no more than this.
      end_line: where it ends; 0 if that is not known.
      end_column: behind its last character, in bytes of UTF-8.
    """

    file: str
    line: int
    end_line: int = 0
    end_column: int = 0


@dataclasses.dataclass(frozen=True)
class Seen:
    """What was asked at a place, of which object.

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
      digests: of the files in which those places are, as they were.
    """

    seen: frozenset[Seen] = frozenset()
    digests: frozenset[tuple[str, str]] = frozenset()

    def __or__(self, other: Uses) -> Uses:
        return Uses(self.seen | other.seen, self.digests | other.digests)

    def is_of(self, file: str, content: bytes) -> bool:
        """Whether a file, as it is now, is what was run."""
        return (file, digest(content)) in self.digests

    @property
    def files(self) -> frozenset[str]:
        """The files with places in them."""
        return frozenset(file for file, _ in self.digests)


def digest(content: bytes) -> str:
    """What tells a content from another."""
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
    """What all processes have written into a folder."""
    entries = [*_entries(sorted(folder.rglob(f"*{SUFFIX}")))]
    return Uses(
        frozenset(
            Seen(Position(*position), of, name, None if made is None else Position(*made), axis)
            for _, position, of, name, made, axis in (each for each in entries if each[0] == "seen")
        ),
        frozenset((each[1], each[2]) for each in entries if each[0] == "file"),
    )


def _entries(files: Iterable[Path]) -> Iterator[list[Any]]:
    for file in files:
        for line in file.read_bytes().split(b"\n")[:-1]:  # what has no end was cut off
            yield json.loads(line)
