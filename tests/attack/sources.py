"""Damaged sources and notebooks: what parsed still parses, and what did not is kept."""

from __future__ import annotations

import ast
import json
import random
import shutil
import warnings
from pathlib import Path

from tests.attack.attempts import Broken, command, names_in
from tests.attack.damage import OF_TEXT, damaged
from tests.support.places import DATA

_PROGRAMS = ("legacy_programs", "linen_programs", "wild_programs", "flax_nn_programs")
_NOTEBOOKS = 0.15


class Sources:
    """Each attempt damages a program, and rewrites or scans it.

    Args:
      folder: an empty one.
    """

    def __init__(self, folder: Path) -> None:
        self._outside = folder
        self._folder = folder / "inside"
        self._folder.mkdir()
        files = [file for name in _PROGRAMS for file in sorted((DATA / name).rglob("*.py"))]
        self._programs = [content for file in files if (content := file.read_bytes())]

    def attempt(self, source: random.Random) -> str:
        """Damage one, and read it."""
        content = damaged(source.choice(self._programs), source, OF_TEXT)
        path = self._folder / "program.py"
        if source.random() < _NOTEBOOKS:
            path = self._folder / "program.ipynb"
            content = _notebook(content, source)
        path.write_bytes(content)
        try:
            return self._read(path, content, source)
        finally:
            shutil.rmtree(self._folder)
            self._folder.mkdir()

    def close(self) -> None:
        """Nothing is left to do."""

    def _read(self, path: Path, content: bytes, source: random.Random) -> str:
        does = source.choice(["scan", "shim", "shim", "optax", "optax"])
        if does == "scan":
            status = command("scan", path, "--format", source.choice(["text", "json", "sarif"]))
        else:
            status = command("rewrite", path, "--to", does, "--write")
        now = path.read_bytes()
        if status not in (0, 1, 2):
            raise Broken(f"exit status {status}")
        if names_in(self._outside) != {"inside", f"inside/{path.name}"}:
            raise Broken(f"left behind: {sorted(names_in(self._outside))}")
        if now == content:
            return f"{does} {'refused' if status == 2 else 'as it was'}"
        if does == "scan":
            raise Broken("scan has written")
        if _is_python(content, path) and not _is_python(now, path):
            raise Broken("what is written does not parse")
        return f"{does} rewritten"


def _is_python(content: bytes, path: Path) -> bool:
    """Whether Python compiles it; of a notebook, whether it is JSON."""
    try:
        if path.suffix == ".ipynb":
            json.loads(content)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(ast.parse(content), str(path), "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _notebook(content: bytes, source: random.Random) -> bytes:
    text = content.decode("utf-8", "replace")
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": part.splitlines(True)}
        for part in text.split("\n\n")
    ]
    made = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    return damaged(made, source, OF_TEXT) if source.random() < 0.5 else made
