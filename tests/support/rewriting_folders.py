"""Scan and rewrite folders of programs by the command, of the tests or as a test writes them."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from flaxoptim_compat.cli import main

TARGETS = ("shim", "optax")
# Folders of programs among the data of the tests.
PROGRAMS = ("large_programs", "legacy_programs", "linen_programs", "wild_programs")

# A program, and what `--to shim` makes of it.
OLD = "from flax import optim\nimport jax\n\ndef f(x):  # é\n    return jax.tree_map(g, x)\n"
NEW = OLD.replace("from flax import", "from flaxoptim_compat import").replace(
    "jax.tree_map", "jax.tree.map"
)
# A program with one finding, in its second line.
MAP = "import jax\njax.tree_map\n"


def copied(source: Path, copy: Path) -> Path:
    """Copy a folder with programs."""
    ignored = shutil.ignore_patterns("genuine.py", "__pycache__", "work")
    shutil.copytree(source, copy, ignore=ignored)
    return copy


def rewrite(path: Path, target: str) -> None:
    """Rewrite a file or a folder with the command, which has to read all of it.

    Args:
      path: the file or folder.
      target: ``shim`` or ``optax``.
    """
    assert main(["rewrite", str(path), "--to", target, "--write"]) in (0, 1)


def texts(folder: Path) -> dict[str, str]:
    """The Python files of a folder by their paths in it."""
    return {
        str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.py"))
    }


def without_imports(text: str) -> list[str]:
    """The statements of a program but its imports, whose order may be another."""
    imports = (ast.Import, ast.ImportFrom)
    return [ast.dump(each) for each in ast.parse(text).body if not isinstance(each, imports)]


class Done(NamedTuple):
    status: int
    output: str
    errors: str


Rewrite = Callable[..., Done]
Scan = Callable[..., tuple[int, list[str], str]]


class Commands:
    """Commands about a folder, each after files are written there, by their names without ``.py``.

    Args:
      folder: the current one from now on.
      capsys: has what the commands print.
      monkeypatch: goes into the folder, and back.
    """

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(folder)
        self._capsys = capsys

    def rewrite(
        self, *options: str, paths: tuple[str, ...] = (".",), to: str = "shim", **files: str
    ) -> Done:
        target = ["--to", to] if to else []
        return self._run(["rewrite", *paths, *target, *options], files)

    def scan(self, *options: str, **files: str) -> tuple[int, list[str], str]:
        """Scan the folder; returns the exit status, the lines of the output, and the errors."""
        done = self._run(["scan", ".", *options], files)
        return done.status, done.output.splitlines(), done.errors

    def _run(self, words: Sequence[str], files: Mapping[str, str]) -> Done:
        for name, text in files.items():
            file = Path(f"{name.replace('__', '/')}.py")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        status = main(words)
        output, errors = self._capsys.readouterr()
        return Done(status, output, errors)


def read(name: str) -> str:
    return Path(name).read_bytes().decode()
