"""Rewrite the texts of programs, as ``flaxoptim-compat rewrite`` does, without any files."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.loading import parse_gin
from flaxoptim_compat.migrate.program.noqa import Ignored, ignored_lines
from flaxoptim_compat.migrate.program.releases import NEWEST, Releases, releases
from flaxoptim_compat.migrate.run.analysis import FileFindings, Task, analyse
from flaxoptim_compat.migrate.run.rewriting import rewritten

# What is run is rewritten for these; what is compared with a text, for the newest.
INSTALLED = releases([])


def document(text: str, name: str = "program", language: str = "py") -> Document:
    """A text as a file.

    Args:
      text: its content.
      name: its module, with slashes.
      language: the end of its name, ``py`` or ``gin``.
    """
    return Document(
        path=Path(f"{name}.{language}"),
        text=text,
        tree=parse_gin(text) if language == "gin" else ast.parse(text),
        module=name.removesuffix(".__init__"),
        is_package=name.endswith("__init__"),
    )


def findings_of(
    program: str | Mapping[str, str],
    language: str = "py",
    releases: Releases = NEWEST,
    target: str = "optax",
) -> list[FileFindings]:
    """What the rules find in one file, or in several by their modules."""
    texts = {"program": program} if isinstance(program, str) else program
    documents = [document(text, name, language) for name, text in texts.items()]
    ignored = {each.path: Ignored(ignored_lines(each.text)) for each in documents}
    return analyse(documents, ignored, Task(target, releases=releases))


def rewrite(program: str, target: str, language: str = "py", releases: Releases = NEWEST) -> str:
    """One file after its rewrite."""
    (file,) = findings_of(program, language, releases, target)
    return rewritten(file, target).text


def why_dual(program: str | Mapping[str, str]) -> list[Finding]:
    """The findings that say why optimizers become DualTrainStates, and no plain ones."""
    return [
        each
        for file in findings_of(program)
        for each in file.findings
        if each.works and each.reason
    ]


def in_one_line_each(text: str) -> str:
    """A program with each of its statements in one line, and without its comments."""
    return ast.unparse(ast.parse(text))


def rewrite_all(program: Mapping[str, str], target: str) -> dict[str, str]:
    """All files of a program, by their modules, after its rewrite."""
    files = findings_of(program, target=target)
    return {name: rewritten(file, target).text for name, file in zip(program, files, strict=True)}


def _analysed_alone(
    text: str, ignored: Mapping[int, frozenset[str]] | None, task: Task
) -> FileFindings:
    file = document(text)
    everywhere = {file.path: Ignored(ignored or {})}
    (found,) = analyse([file], everywhere, task, without_optimizers=[file])
    return found


def findings_alone(text: str, ignored: Mapping[int, frozenset[str]] | None = None) -> list[Finding]:
    """What the rules find in a text that has nothing to do with other files or optimizers.

    Args:
      text: Python.
      ignored: for each line the codes that are not wanted.
    """
    return _analysed_alone(text, ignored, Task()).findings


def rewrite_alone(
    text: str,
    target: str = "shim",
    ignored: Mapping[int, frozenset[str]] | None = None,
    releases: Releases = NEWEST,
) -> str:
    """What ``rewrite`` makes of such a text; to rewrite it again must change nothing."""
    task = Task(target, releases=releases)
    result = rewritten(_analysed_alone(text, ignored, task), target).text
    ast.parse(result)
    if ignored is None:
        assert rewritten(_analysed_alone(result, None, task), target).text == result
    return result
