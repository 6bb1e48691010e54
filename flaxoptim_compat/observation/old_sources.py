"""The files of an old program, from a revision of git or from a folder, where today's differ."""

from __future__ import annotations

import filecmp
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.observation.copies import is_left_out

# What imports flax.optim, for `git grep` and `git log`.
_IMPORTS = r"from flax import .*\boptim\b|from flax\.optim|import flax\.optim|\bflax\.optim\."
_SOURCES = (".py", ".pyi", ".gin", ".ipynb")


class NoOldSourcesError(Exception):
    """The old program cannot be had; the message says why."""


class OldFile(NamedTuple):
    """A file that differs.

    Args:
      path: today's file, or where it would be.
      content: what it was; None: there was no such file.
    """

    path: Path
    content: bytes | None

    @property
    def old(self) -> bytes:
        """The bytes of the file before."""
        return self.content or b""

    @property
    def new(self) -> bytes:
        """The bytes of today's file."""
        return self.path.read_bytes() if self.path.is_file() else b""

    @property
    def is_python(self) -> bool:
        """True for a file of Python."""
        return self.path.suffix == ".py"


class OldSources(NamedTuple):
    """An old program.

    Args:
      name: what it is, in words.
      changes: the files that differ from today's.
    """

    name: str
    changes: list[OldFile]


def named(folder: Path, name: str | None) -> OldSources:
    """The old program of a folder.

    Args:
      folder: the folder of today's program.
      name: a revision or a folder; None: the last commit that imports flax.optim.

    Raises:
      NoOldSourcesError: there is no such thing.
    """
    if name is not None and Path(name).is_dir():
        return OldSources(f"the folder {name}", list(_of_folder(folder, Path(name))))
    revision = _last_with_flax_optim(folder) if name is None else name
    title = _git(folder, "show", "--no-patch", "--format=%h %s", f"{revision}^{{commit}}")
    return OldSources(f"commit {title.strip()}", list(_of_revision(folder, revision)))


def _of_revision(folder: Path, revision: str) -> Iterator[OldFile]:
    """The tracked files of a folder that differ from a revision."""
    words = ("diff", "--name-status", "--no-renames", "-z", "--relative", revision, "--", ".")
    fields = _git(folder, *words).split("\0")
    for status, path in zip(fields[::2], fields[1::2], strict=False):
        # As a checkout would write it: with the ends of lines that git is to use here.
        old = (
            None
            if status == "A"
            else _bytes(folder, "cat-file", "--filters", f"{revision}:./{path}")
        )
        yield OldFile(folder / path, old)


def _of_folder(folder: Path, other: Path) -> Iterator[OldFile]:
    """The source files that differ in another folder."""
    paths = dict.fromkeys((*_sources(folder), *_sources(other)))
    for path in paths:
        old, new = other / path, folder / path
        if not old.is_file():
            yield OldFile(new, None)
        elif not new.is_file() or not filecmp.cmp(old, new, shallow=False):
            yield OldFile(new, old.read_bytes())


def _sources(folder: Path) -> Iterator[Path]:
    for top, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not is_left_out(Path(top, each))]
        for name in names:
            if name.endswith(_SOURCES):
                yield Path(top, name).relative_to(folder)


def _last_with_flax_optim(folder: Path) -> str:
    """The newest commit whose files in a folder import flax.optim."""
    # Newest first: the commit that removed the last import, or one that has some.
    touching = _git(folder, "log", "--format=%H", "--extended-regexp", f"-G{_IMPORTS}", "--", ".")
    for commit in ["HEAD", *touching.split()]:
        for each in (commit, f"{commit}^"):
            grep = ["git", "grep", "-qE", _IMPORTS, each, "--", "*.py", "*.ipynb"]
            if not subprocess.run(grep, cwd=folder, capture_output=True, check=False).returncode:
                return each
    raise NoOldSourcesError(
        f"No commit has a file in {folder} that imports flax.optim. Name the old program with"
        " --before REV, or --before FOLDER."
    )


def _git(folder: Path, *words: str) -> str:
    return _bytes(folder, *words).decode(errors="surrogateescape")


def _bytes(folder: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)
    except OSError as error:
        raise NoOldSourcesError(
            "git, which has the old program, is not installed. Name a folder: --before FOLDER."
        ) from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise NoOldSourcesError(f"git has no old program here: {said}. Or name --before FOLDER.")
    return done.stdout
