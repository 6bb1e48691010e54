"""Rewrite folders of programs by the command, those of the tests or what a test writes there."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable
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


def rewriting_in(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Rewrite:
    """What writes files into the folder, by their names without ``.py``, and rewrites them."""
    monkeypatch.chdir(folder)

    def run(*options: str, paths: tuple[str, ...] = (".",), to: str = "shim", **files: str) -> Done:
        for name, text in files.items():
            file = Path(f"{name.replace('__', '/')}.py")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        status = main(["rewrite", *paths, "--to", to, *options])
        output, errors = capsys.readouterr()
        return Done(status, output, errors)

    return run


def read(name: str) -> str:
    return Path(name).read_bytes().decode()
