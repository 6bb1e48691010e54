"""Write programs into a folder."""

from __future__ import annotations

from pathlib import Path


def write(folder: Path, **programs: str) -> None:
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
