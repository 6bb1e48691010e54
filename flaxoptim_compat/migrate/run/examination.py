"""One file by itself: what it mentions, its findings, and its rewritten text."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Container, Iterator
from typing import NamedTuple

from flaxoptim_compat.migrate.editing.finding import OF_OPTIMIZERS, Finding
from flaxoptim_compat.migrate.editing.marks import marks_in
from flaxoptim_compat.migrate.names.meanings import Exporter
from flaxoptim_compat.migrate.program.imported_files import import_names
from flaxoptim_compat.migrate.program.linking import ProgramFile
from flaxoptim_compat.migrate.program.loading import FoundFile, Loaded, check_rewritten, load
from flaxoptim_compat.migrate.program.mentions import imports_in, mentions_in, mentions_in_gin
from flaxoptim_compat.migrate.program.noqa import Ignored, ignored_lines
from flaxoptim_compat.migrate.program.releases import NEWEST, Releases
from flaxoptim_compat.migrate.program.source_text import Place, Unreadable, Unwritable
from flaxoptim_compat.migrate.run.analysis import FileFindings, analyse_alone
from flaxoptim_compat.migrate.run.reports import FileReport, ReportedFinding
from flaxoptim_compat.migrate.run.rewriting import rewritten
from flaxoptim_compat.migrate.run.settings import ProjectSettings
from flaxoptim_compat.observation.places import Uses

_RECURSION = 10_000
# The rule about code that works where TensorFlow is installed.
TENSORFLOW_IS_MISSING = "FOC160"


class Task(NamedTuple):
    """The options of a run.

    Args:
      target: ``shim`` or ``optax``; "" if nothing is to be rewritten.
      codes: the codes of all rules.
      settings: the settings that say which rules count where.
      accept_changes: whether changes of numbers are accepted.
      releases: the versions that the result is for.
      uses: where an observed run used optimizers; None: there was no such run.
      has_tensorflow: whether TensorFlow is installed, or the program imports it.
    """

    target: str
    codes: tuple[str, ...]
    settings: ProjectSettings
    accept_changes: bool = False
    releases: Releases = NEWEST
    uses: Uses | None = None
    has_tensorflow: bool = False

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets whose edits are wanted."""
        return (self.target,) if self.target else ()


class Examined(NamedTuple):
    """The result of examining one file by itself.

    Args:
      program_file: the file, with the names that connect it to other files.
      report: the report; None: the file has to be analysed first, alone or with others.
      names_flax_optim: whether the file names flax.optim, or what serves it.
      loaded: the parsed file, if it was parsed.
    """

    program_file: ProgramFile
    report: FileReport | None = None
    names_flax_optim: bool = False
    loaded: Loaded | None = None


def examine(file: FoundFile, source: bytes) -> Examined:
    """The result of examining one file, which is parsed only if it may name what is gone.

    Args:
      file: the file.
      source: the content of the file.
    """
    try:
        if file.path.suffix == ".gin":
            if not mentions_in_gin(source):
                return Examined(ProgramFile(file), FileReport(file))
            return Examined(ProgramFile(file, is_parsed=True), loaded=load(file, source))
        mentions = mentions_in(source)
        # A null byte may be half of a letter in UTF-16.
        if not mentions.old and b"\0" not in source:
            return Examined(ProgramFile(file, mentions, imports_in(source)), FileReport(file))
        loaded = load(file, source)
        imports = frozenset(import_names(loaded.document))
        may_name = mentions.optim or mentions.optimizers
        names_flax_optim = may_name and Exporter(loaded.document).names_flax_optim()
        mentions = mentions._replace(optimizers=mentions.optimizers or names_flax_optim)
        program_file = ProgramFile(file, mentions, imports, is_parsed=True)
        return Examined(program_file, None, names_flax_optim, loaded)
    except Exception as error:
        return Examined(ProgramFile(file), unread(file, error))


def report_alone(loaded: Loaded, task: Task) -> FileReport:
    """The report on a file that is read without regard to others."""
    ignored = ignored_in(loaded, task)
    findings = analyse_alone(loaded.document, ignored, task.targets, task.releases)
    return report_of(loaded, findings, task)


def ignored_in(loaded: Loaded, task: Task) -> Ignored:
    """The codes that are not to be reported in a file, in single lines or in all of it."""
    everywhere = task.settings.ignored_in(loaded.file.path, task.codes)
    if task.target and loaded.off_limits:
        # An optimizer that is used in a file that stays must stay too.
        everywhere |= {code for code in task.codes if code.startswith(OF_OPTIMIZERS)}
    if task.has_tensorflow:
        everywhere |= {TENSORFLOW_IS_MISSING}
    return Ignored(ignored_lines(loaded.document.text), everywhere)


def report_of(loaded: Loaded, analysed: FileFindings, task: Task) -> FileReport:
    """The report on a file, with its new bytes if it is to be rewritten."""
    report = FileReport(loaded.file, is_parsed=True, off_limits=loaded.off_limits)
    report.unread += loaded.broken
    report.findings = [_reported(loaded, each) for each in analysed.findings]
    report.unknown += loaded.unknown
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
        except Unreadable as error:
            report.unread.append((None, f"the result of rewrite is no Python, {error}"))
    return report


def unread(file: FoundFile, error: Exception) -> FileReport:
    """The report on a file that could not be read."""
    if isinstance(error, OSError | Unreadable):
        why = (error.strerror if isinstance(error, OSError) else "") or str(error)
    else:
        why = mistake(error)
    return FileReport(file, unread=[(None, why)])


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
    return ReportedFinding(finding.code, place, finding.what, finding.instead, *does, *texts)


def _marks(loaded: Loaded, codes: Container[str]) -> Iterator[tuple[Place, str]]:
    """The marks of an earlier rewrite for which no rule has a finding now."""
    for mark in marks_in(loaded.document.text):
        if mark.code not in codes:
            yield _place(loaded, mark.start + len("# "), mark.end), mark.text


def _place(loaded: Loaded, start: int, end: int) -> Place:
    position = loaded.document.position
    return loaded.origin.place(*position(start), *position(end))
