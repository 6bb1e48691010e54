"""One file by itself: what it mentions, its findings, and its rewritten text."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Container, Iterator
from pathlib import Path

from flaxoptim_compat.migrate.editing.finding import OF_OPTIMIZERS, Finding
from flaxoptim_compat.migrate.editing.marks import marks_in
from flaxoptim_compat.migrate.names.meanings import Exporter
from flaxoptim_compat.migrate.program.imported_files import import_names
from flaxoptim_compat.migrate.program.linking import ProgramFile
from flaxoptim_compat.migrate.program.loading import FoundFile, Loaded, check_rewritten, load
from flaxoptim_compat.migrate.program.mentions import imports_in, mentions_in, mentions_in_gin
from flaxoptim_compat.migrate.program.noqa import Ignored, ignored_lines
from flaxoptim_compat.migrate.program.notebooks import Notebook
from flaxoptim_compat.migrate.program.source_text import Place, Unreadable, Unwritable
from flaxoptim_compat.migrate.rules import rule_modules
from flaxoptim_compat.migrate.run.analysis import FileFindings, Task
from flaxoptim_compat.migrate.run.reports import FileReport, ReportedFinding
from flaxoptim_compat.migrate.run.rewriting import rewritten

_RECURSION = 10_000
# The rule about code that works where TensorFlow is installed.
TENSORFLOW_IS_MISSING = "FOC160"


def examine(file: FoundFile) -> tuple[ProgramFile, Loaded | FileReport]:
    """A file with the names that connect it to others, parsed only if it may name what is gone.

    Args:
      file: the file.

    Returns:
      Also the parsed file, or the report on a file that need not or cannot be parsed.
    """
    try:
        source = file.path.read_bytes()
        if file.path.suffix == ".gin":
            if not mentions_in_gin(source):
                return ProgramFile(file), FileReport(file.path)
            return ProgramFile(file, is_parsed=True), load(file, source)
        mentions = mentions_in(source)
        # A null byte may be half of a letter in UTF-16.
        if not mentions.old and b"\0" not in source:
            return ProgramFile(file, mentions, imports_in(source)), FileReport(file.path)
        loaded = load(file, source)
        imports = frozenset(import_names(loaded.document))
        may_name = mentions.optim or mentions.optimizers
        names_flax_optim = may_name and Exporter(loaded.document).names_flax_optim()
        mentions = mentions._replace(optimizers=mentions.optimizers or names_flax_optim)
        return ProgramFile(file, mentions, imports, True, names_flax_optim), loaded
    except Exception as error:
        return ProgramFile(file), unread(file.path, error)


def ignored_in(loaded: Loaded, task: Task) -> Ignored:
    """The codes that are not to be reported in a file, in single lines or in all of it."""
    codes = rule_modules().keys()
    everywhere = task.settings.ignored_in(loaded.file.path, codes)
    if task.target and loaded.off_limits:
        # An optimizer that is used in a file that stays must stay too.
        everywhere |= {code for code in codes if code.startswith(OF_OPTIMIZERS)}
    if task.has_tensorflow:
        everywhere |= {TENSORFLOW_IS_MISSING}
    return Ignored(ignored_lines(loaded.document.text), everywhere)


def report_of(loaded: Loaded, analysed: FileFindings, task: Task) -> FileReport:
    """The report on a file, with its new bytes if it is to be rewritten."""
    report = FileReport(loaded.file.path, is_parsed=True, off_limits=loaded.off_limits)
    report.findings = [_reported(loaded, each) for each in analysed.findings]
    if isinstance(loaded.origin, Notebook):
        report.unread += loaded.origin.broken
        report.unknown += loaded.origin.unknown
    report.unknown += [(_place(loaded, at, at), why) for at, why in analysed.unknown]
    report.marks = list(_marks(loaded, {each.code for each in analysed.findings}))
    report.left = report.findings
    if task.target and not report.off_limits:
        result = rewritten(analysed, task.target)
        try:
            if result.text != loaded.document.text:
                new = loaded.origin.encoded(result.text)
                check_rewritten(loaded, new)
                report.old, report.new = loaded.source, new
                report.done = [_reported(loaded, each) for each in result.done]
            report.left = [_reported(loaded, each) for each in result.left]
        except Unwritable as error:
            report.off_limits = str(error)
    return report


def unread(path: Path, error: Exception) -> FileReport:
    """The report on a file that could not be read."""
    if isinstance(error, OSError | Unreadable):
        why = (error.strerror if isinstance(error, OSError) else "") or str(error)
    else:
        why = mistake(error)
    return FileReport(path, unread=[(None, why)])


def mistake(error: Exception) -> str:
    """The message about an error that should not happen."""
    said = ": ".join(filter(None, [type(error).__name__, str(error)]))
    return f"flaxoptim-compat made a mistake in this file: {said}"


@contextlib.contextmanager
def deep_recursion() -> Iterator[None]:
    """Raise the recursion limit for code that is nested as deeply as Python's parser allows."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _reported(loaded: Loaded, finding: Finding) -> ReportedFinding:
    place = _place(loaded, finding.start, finding.end)
    does = (finding.shim is not None, finding.optax is not None)
    texts = (finding.reason, finding.change, finding.cause)
    named = (finding.code, place, finding.what, finding.instead)
    return ReportedFinding(*named, *does, *texts, finding.works)


def _marks(loaded: Loaded, codes: Container[str]) -> Iterator[tuple[Place, str]]:
    """The marks of an earlier rewrite for which no rule has a finding now."""
    for mark in marks_in(loaded.document.text):
        if mark.code not in codes:
            yield _place(loaded, mark.start + len("# "), mark.end), mark.text


def _place(loaded: Loaded, start: int, end: int) -> Place:
    position = loaded.document.position
    return loaded.origin.place(*position(start), *position(end))
