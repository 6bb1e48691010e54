"""Run ``flaxoptim-compat rewrite`` in a folder of files that a test writes there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from flaxoptim_compat.cli import main


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
