"""Write files, and find those that a run looks at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flaxoptim_compat.migrate.program.loading import FoundFiles


def write(root: Path, *names: str, content: bytes = b"import flax\n") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def found(*paths: Path, exclude: Sequence[str] = ()) -> FoundFiles:
    return FoundFiles(paths, lambda path: path.name in exclude)
