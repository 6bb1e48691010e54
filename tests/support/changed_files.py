"""Files of a program, and the changes that a rewrite would make to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flaxoptim_compat.migrate.editing.journal import only_run
from flaxoptim_compat.migrate.editing.one_change import Outcome, write
from flaxoptim_compat.migrate.editing.replacing_files import Replacement

OLD = b"import jax\njax.tree_map(f, x)\n"
NEW = b"import jax\njax.tree.map(f, x)\n"


def changes(folder: Path, *names: str) -> list[Replacement]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(OLD)
    return [Replacement(folder / name, OLD, NEW) for name in names]


def written(
    those: Sequence[Replacement],
    folder: Path,
    judge: Any = None,
    say: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Write changes as a run over a folder does."""
    with only_run([folder], (), True, say) as journal:
        return write(those, journal(), judge, say)


def content(folder: Path) -> dict[str, bytes]:
    """All files, and what is in them."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
