"""Scan folders of programs by the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flaxoptim_compat.cli import main

MAP = "import jax\njax.tree_map\n"
# One optimizer that stays, with the line that holds it.
HELD = """\
import operator

from flax import optim

get_target = operator.attrgetter("target")
optimizer = optim.Adam(0.1).create({"a": 1.0})
print(get_target(optimizer))
"""

Scan = Callable[..., tuple[int, list[str]]]


def scanning_in(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Scan:
    """What writes files into the folder, by their names without ``.py``, and scans them."""
    monkeypatch.chdir(folder)

    def run(*options: str, **files: str) -> tuple[int, list[str]]:
        for name, text in files.items():
            Path(f"{name}.py").write_text(text)
        status = main(["scan", ".", *options])
        return status, capsys.readouterr().out.splitlines()

    return run
