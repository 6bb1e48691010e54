"""The files of a program that imports name; other modules ask this one."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.loading import FoundFile
from flaxoptim_compat.migrate.program.releases import PACKAGES


def package_of(module: str, is_package: bool) -> str:
    """The package that relative imports in a file start from; "" if it is in none.

    Args:
      module: the dotted name of the file.
      is_package: whether the file is the ``__init__.py`` of that module.
    """
    return module if is_package else module.rpartition(".")[0]


def absolute(name: str, package: str) -> str | None:
    """A name as it stands in an import statement, without the dots of a relative import.

    Args:
      name: the name, with the dots of a relative import before it.
      package: the package of the file with the import.

    Returns:
      None if the dots lead out of the known packages.
    """
    below = name.lstrip(".")
    level = len(name) - len(below)
    if not level:
        return name
    parts = package.split(".") if package else []
    # The folder of all files may be a package itself.
    if level > len(parts) + 1:
        return None
    return ".".join([*parts[: len(parts) - level + 1], *filter(None, [below])])


def meant(name: str, module: str, is_package: bool, modules: Container[str]) -> str | None:
    """The module of the program that an import means.

    Args:
      name: the imported name, with the dots of a relative import before it.
      module: the module of the file with the import; "" if it has none.
      is_package: whether this file is the ``__init__.py`` of its module.
      modules: the modules of the program.

    Returns:
      None if the name is not of the program.
    """
    package = package_of(module, is_package)
    if name.startswith("."):
        full = absolute(name, package)
        return full if full in modules else None
    # The folder of a script is on the path, and so is that of the project, or its src.
    around = package
    while around:
        full = f"{around}.{name}"
        if full in modules and full != module and _may_be_on_path(around, name, modules):
            return full
        around = around.rpartition(".")[0]
    for full in (name, f"src.{name}"):
        if full in modules and full != module:
            return full
    return None


def _may_be_on_path(folder: str, name: str, modules: Container[str]) -> bool:
    """True if an import of a name may mean the one in a folder inside the project.

    A folder called ``jax`` or ``flax`` holds what the program does with the library, unless it is
    a copy of Flax.
    """
    return name.partition(".")[0] not in PACKAGES or f"{folder}.flax.optim" in modules


def in_one_tree(file: FoundFile | Document, other: FoundFile | Document) -> bool:
    """True if one file may run another one by its name, although no import names it.

    A script above all folders may run any file, a file in a package those of its package.

    Args:
      file: the file that may run the other.
      other: the other file.
    """
    top, dot, _ = file.module.partition(".")
    is_above_all = not (dot or file.is_package)
    return is_above_all or other.module.partition(".")[0] == top


def joined(origin: str, name: str) -> str:
    """The dotted name of a name in a module, which may be nothing but dots."""
    return f"{origin}.{name}" if origin.strip(".") else f"{origin}{name}"


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
            for name in dict.fromkeys(import_names(document))
            if (module := meant(name, document.module, document.is_package, by_module)) is not None
        }
        for document in documents
    }


def import_names(document: Document) -> Iterator[str]:
    """The names in the imports of a file that may be modules; relative ones begin with dots."""
    for node in document.imports:
        origin = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        yield from modules_in(origin, (alias.name for alias in node.names))


def modules_in(origin: str, names: Iterable[str]) -> Iterator[str]:
    """The names in one import that may be modules, with the packages that they are in.

    Args:
      origin: the text after ``from``; "" for a plain import.
      names: the names after ``import``.
    """
    if origin:
        yield origin
        yield from (joined(origin, each) for each in names)
        return
    for name in names:
        parts = name.split(".")
        yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))
