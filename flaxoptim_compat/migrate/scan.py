"""Where Python files use names that flax, jax and numpy have removed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.era import ENTRIES
from flaxoptim_compat.legacy.names import of_flax_optim

_TABLE: Mapping[str, Entry] = {
    each.name: each for each in (*of_flax_optim.ENTRIES, *ENTRIES) if each.gone_since
}
# As modules they are gone, but their package has an object by that name.
_OBJECTS_TODAY = {"jax.config"}
_NOT_THE_PROGRAM = {"site-packages", "dist-packages", "__pycache__", "node_modules"}


class Use(NamedTuple):
    """One use of a removed name.

    Args:
      line: counted from 1.
      column: counted from 1.
      name: the full name, such as ``flax.optim.Adam``, whatever the file calls it.
      gone_since: the first release without it.
      replacement: what does the same today.
    """

    line: int
    column: int
    name: str
    gone_since: str
    replacement: str


def python_files(paths: Sequence[Path]) -> Iterator[Path]:
    """The Python files among these paths and in these folders, hidden folders and packages aside.

    Raises:
      FileNotFoundError: there is no such path.
    """
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(path)
        if not path.is_dir():
            yield path
            continue
        for file in sorted(path.rglob("*.py")):
            folders = file.relative_to(path).parts[:-1]
            if not any(each in _NOT_THE_PROGRAM or each.startswith(".") for each in folders):
                yield file


def scan(source: bytes) -> list[Use]:
    """The uses in one file, in their order; the file is parsed, not run.

    Args:
      source: the content of the file.

    Raises:
      SyntaxError: it is not Python, or not of this version.
      ValueError: it holds null bytes, or is nested too deeply.
    """
    try:
        tree = ast.parse(source)
        reader = _Reader()
        reader.visit(tree)
    except (RecursionError, MemoryError) as error:
        # What Python's parser says of it depends on what is nested.
        raise ValueError("it is nested too deeply") from error
    return sorted(reader.uses)


class _Reader(ast.NodeVisitor):
    """Follows the names that a file gives to modules and to what it imports from them."""

    def __init__(self) -> None:
        self.uses: set[Use] = set()
        # {name in the file: full name}
        self.known: dict[str, str] = {}

    def visit_Import(self, node: ast.Import) -> None:
        for each in node.names:
            self._found(each, each.name, imported=each.name)
            if each.asname is None:
                root = each.name.partition(".")[0]
                self.known[root] = root
            else:
                self.known[each.asname] = each.name

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or node.module is None:
            return
        for each in node.names:
            name = node.module if each.name == "*" else f"{node.module}.{each.name}"
            self._found(each, name, imported=node.module)
            self.known[each.asname or each.name] = name

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self._full_name(node)
        if name is None:
            self.generic_visit(node)
        else:
            self._found(node, name)

    def visit_Name(self, node: ast.Name) -> None:
        name = self.known.get(node.id)
        # The module itself is reported where it is imported.
        if name is not None and isinstance(node.ctx, ast.Load) and name not in _TABLE:
            self._found(node, name)

    def _full_name(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Attribute):
            inside = self._full_name(node.value)
            return None if inside is None else f"{inside}.{node.attr}"
        return self.known.get(node.id) if isinstance(node, ast.Name) else None

    def _found(self, node: ast.expr | ast.alias, name: str, imported: str = "") -> None:
        """Report the longest part of a dotted name that the tables know."""
        parts = name.split(".")
        for length in range(len(parts), 1, -1):
            entry = _TABLE.get(".".join(parts[:length]))
            if entry is None or (entry.name in _OBJECTS_TODAY and imported != entry.name):
                continue
            # Of a module that is gone, the name inside it counts too.
            inside = parts[length : length + 1] if entry.is_module else []
            shown = ".".join([entry.name, *inside])
            instead = entry.instead or ".".join([entry.replacement, *inside])
            place = (node.lineno, node.col_offset + 1)
            self.uses.add(Use(*place, shown, entry.gone_since, instead))
            return
