"""Which files of a program the imports of a file mean."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from flaxoptim_compat.migrate.document import Document


def imported_files(documents: Sequence[Document]) -> Mapping[Document, Mapping[str, Document]]:
    """For each file the files that it imports, by the names that stand in its imports.

    A relative name starts with as many dots as there. ``from a import b`` counts as both ``a`` and
    ``a.b``, because only the files tell whether ``b`` is one.

    Args:
      documents: the files of a program.
    """
    by_module = {each.module: each for each in documents if each.module}
    return {
        document: {
            name: by_module[module]
            for name in _names(document.tree)
            if (module := _found(document, name, by_module)) is not None
        }
        for document in documents
    }


def connected_files(
    imported: Mapping[Document, Mapping[str, Document]],
) -> Mapping[Document, int]:
    """A number for each file, the same for those that imports connect, however far.

    Args:
      imported: for each file the files that it imports.
    """
    neighbours: dict[Document, set[Document]] = {each: set() for each in imported}
    for document, modules in imported.items():
        for other in modules.values():
            neighbours[document].add(other)
            neighbours[other].add(document)
    numbers: dict[Document, int] = {}
    for number, document in enumerate(imported):
        waiting = [document]
        while waiting:
            each = waiting.pop()
            if each not in numbers:
                numbers[each] = number
                waiting += neighbours[each]
    return numbers


def imported_names(
    imported: Mapping[Document, Mapping[str, Document]],
) -> dict[Document, set[str]]:
    """For each file the names that other files import from it.

    Args:
      imported: for each file the files that it imports.
    """
    found: dict[Document, set[str]] = {each: set() for each in imported}
    for document, modules in imported.items():
        for node in ast.walk(document.tree):
            if isinstance(node, ast.ImportFrom):
                module = modules.get("." * node.level + (node.module or ""))
                if module is not None:
                    found[module].update(alias.name for alias in node.names)
    return found


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            yield origin
            for alias in node.names:
                yield joined(origin, alias.name)


def joined(origin: str, name: str) -> str:
    """The dotted name of a name in a module, which may be nothing but dots."""
    return f"{origin}.{name}" if origin.strip(".") else f"{origin}{name}"


def _found(document: Document, name: str, modules: Mapping[str, Document]) -> str | None:
    package = document.module.split(".")
    if not document.is_package:
        package.pop()
    if name.startswith("."):
        level = len(name) - len(name.lstrip("."))
        base = package[: len(package) - level + 1]
        full = ".".join([*base, *filter(None, name.lstrip(".").split("."))])
        return full if full in modules else None
    # The folder of a script is on the path, and so is that of the project.
    for length in range(len(package), -1, -1):
        full = ".".join([*package[:length], name])
        if full in modules and modules[full] is not document:
            return full
    return f"src.{name}" if f"src.{name}" in modules else None
