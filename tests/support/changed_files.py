"""Files of a program, and the changes that a rewrite would make to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flaxoptim_compat.migrate.editing.journal import Outcome, recover, write
from flaxoptim_compat.migrate.editing.replacing_files import Replacement
from flaxoptim_compat.observation.places import FOLDER

OLD = b"import jax\njax.tree_map(f, x)\n"
NEW = b"import jax\njax.tree.map(f, x)\n"


def changes(folder: Path, *names: str) -> list[Replacement]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(OLD)
    return [Replacement(folder / name, OLD, NEW) for name in names]


def written(those: Sequence[Replacement], folder: Path) -> Outcome:
    """Write changes as a rewrite of a folder does."""
    recover([folder], (), lambda _: None)
    return write(those, [folder])


def content(folder: Path) -> dict[str, bytes]:
    """All files, and what is in them, but for what the commands keep for themselves."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and FOLDER not in path.parts
    }
