"""Copies of programs, rewritten by the command."""

from __future__ import annotations

import shutil
from pathlib import Path

from flaxoptim_compat.cli import main

TARGETS = ("shim", "optax")


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
