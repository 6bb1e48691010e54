"""The names in a text, and what they stand for."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flaxoptim_compat.migrate.names import meanings
from flaxoptim_compat.migrate.names.meanings import Exporter
from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.program.document import Document

Exports = Mapping[str, Mapping[str, str]]


def document_of(text: str, module: str = "", is_package: bool = False) -> Document:
    return Document(Path("a.py"), text, ast.parse(text), module, is_package)


def names_of(
    text: str, exports: Exports | None = None, module: str = "", is_package: bool = False
) -> Names:
    document = document_of(text, module, is_package)
    return Names(document, exporter_of(document, exports))


def exporter_of(document: Document, exports: Exports | None) -> Exporter:
    return Exporter(document, meanings.Exports((exports or {}).keys(), exports or {}))


def passed_on(text: str, exports: Exports | None = None, module: str = "") -> dict[str, str]:
    """What a file passes on to those that import from it."""
    return dict(exporter_of(document_of(text, module), exports))


def meaning(text: str, exports: Exports | None = None, **more: Any) -> str | None:
    """The full name of the last expression of a text that starts a line of its own."""
    names = names_of(text, exports, **more)
    statements = [each for each in ast.walk(names.document.tree) if isinstance(each, ast.Expr)]
    last = max(statements, key=lambda each: each.lineno)
    return names.full_name(last.value)


ADAM = "flax.optim.Adam"

OPTIM = "from flax import optim\n"


def uses(text: str, exports: Exports | None = None, module: str = "") -> list[tuple[str, ...]]:
    names = names_of(text, exports, module)
    return [
        (
            names.document.source(use.node),
            use.name,
            use.binding.name if use.binding else "",
            use.way,
        )
        for use in names.uses
    ]
