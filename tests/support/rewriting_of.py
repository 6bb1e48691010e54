"""Rewrite the text of a program, as ``flaxoptim-compat rewrite`` does, without any files."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from flaxoptim_compat.migrate.analysis import FileFindings, analyse
from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.noqa import ignored_lines
from flaxoptim_compat.migrate.rewriting import rewritten


def findings_of(program: str | Mapping[str, str]) -> list[FileFindings]:
    """What the rules find in one file, or in several by their modules."""
    texts = {"program": program} if isinstance(program, str) else program
    documents = [
        Document(
            path=Path(f"{name}.py"),
            text=text,
            tree=ast.parse(text),
            module=name.removesuffix(".__init__"),
            is_package=name.endswith("__init__"),
        )
        for name, text in texts.items()
    ]
    ignored = {each.path: ignored_lines(each.text) for each in documents}
    return analyse(documents, ignored, writes=True)


def rewrite(program: str, target: str) -> str:
    """One file after its rewrite."""
    (file,) = findings_of(program)
    return rewritten(file, target).text


def rewrite_all(program: Mapping[str, str], target: str) -> dict[str, str]:
    """All files of a program, by their modules, after its rewrite."""
    files = findings_of(program)
    return {name: rewritten(file, target).text for name, file in zip(program, files, strict=True)}
