"""One file after the other: what is in it, and what becomes of it."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Collection, Container, Iterator
from typing import NamedTuple

from flaxoptim_compat.migrate.editing.finding import OF_OPTIMIZERS, Finding
from flaxoptim_compat.migrate.editing.marks import marks_in
from flaxoptim_compat.migrate.names.meanings import Exporter
from flaxoptim_compat.migrate.program.imported_files import import_names
from flaxoptim_compat.migrate.program.linking import ProgramFile
from flaxoptim_compat.migrate.program.loading import FoundFile, Loaded, check_rewritten, load
from flaxoptim_compat.migrate.program.mentions import mentions_in, mentions_in_gin, packages_in
from flaxoptim_compat.migrate.program.noqa import Ignored, ignored_lines
from flaxoptim_compat.migrate.program.releases import NEWEST, Releases
from flaxoptim_compat.migrate.program.source_text import Place, Unreadable, Unwritable
from flaxoptim_compat.migrate.run.analysis import FileFindings, analyse_alone
from flaxoptim_compat.migrate.run.reports import FileReport, Noted
from flaxoptim_compat.migrate.run.rewriting import rewritten
from flaxoptim_compat.migrate.run.settings import Settings
from flaxoptim_compat.observation.places import Uses

_RECURSION = 10_000
# The rule for what works wherever TensorFlow is.
TENSORFLOW_IS_MISSING = "FOC160"


class Task(NamedTuple):
    """The options of a run: what it is to do, and for which versions.

    Args:
      target: ``shim`` or ``optax``; "" if nothing is to be rewritten.
      codes: of all rules.
      settings: which of them count where.
      accept_changes: whether changes of numbers are accepted.
      releases: the versions that the result is for.
      uses: where a run used optimizers; None: there was none.
      has_tensorflow: whether TensorFlow is there, installed or because the program imports it.
    """

    target: str
    codes: tuple[str, ...]
    settings: Settings
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
      program_file: what tells to which others it belongs.
      report: what there is to say about it; None: that takes reading it, alone or with others.
      packages: what it imports, without what stands behind a dot.
      names_flax_optim: whether it names flax.optim, or what serves it.
      loaded: the file, if it was parsed.
    """

    program_file: ProgramFile
    report: FileReport | None = None
    packages: frozenset[str] = frozenset()
    names_flax_optim: bool = False
    loaded: Loaded | None = None


_WORD = re.compile(rb"\w+")


def examine(file: FoundFile, source: bytes, modules: Collection[bytes]) -> Examined:
    """Look at one file, and parse it if it can name what is gone.

    Args:
      file: where it is.
      source: what is in it.
      modules: what the modules of the program are called.
    """
    program_file = ProgramFile(file)
    try:
        if file.path.suffix == ".gin":
            if not mentions_in_gin(source):
                return Examined(program_file, FileReport(file))
            return Examined(program_file._replace(imports=()), loaded=load(file, source))
        program_file = ProgramFile(file, mentions_in(source))
        packages = packages_in(source)
        # A null byte may be half of a letter.
        if not program_file.mentions.old and b"\0" not in source:
            words = frozenset(_WORD.findall(source)).intersection(modules)
            return Examined(program_file._replace(words=words), FileReport(file), packages)
        loaded = load(file, source)
        program_file = program_file._replace(imports=frozenset(import_names(loaded.document)))
        names_flax_optim = (
            program_file.mentions.optimizers and Exporter(loaded.document).names_flax_optim()
        )
        return Examined(program_file, None, packages, names_flax_optim, loaded)
    except Exception as error:
        return Examined(ProgramFile(file), unread(file, error))


def report_alone(loaded: Loaded, task: Task) -> FileReport:
    """The report on a file that is read without regard to others."""
    ignored = ignored_in(loaded, task)
    found = analyse_alone(loaded.document, ignored, task.targets, task.releases)
    return report_of(loaded, found, task)


def ignored_in(loaded: Loaded, task: Task) -> Ignored:
    """The codes that are not to be reported in a file, in single lines or in all of it."""
    everywhere = task.settings.ignored_in(loaded.file.path, task.codes)
    if task.target and loaded.off_limits:
        # An optimizer that a file which stays has a part in must stay itself.
        everywhere |= {code for code in task.codes if code.startswith(OF_OPTIMIZERS)}
    if task.has_tensorflow:
        everywhere |= {TENSORFLOW_IS_MISSING}
    return Ignored(ignored_lines(loaded.document.text), everywhere)


def report_of(loaded: Loaded, found: FileFindings, task: Task) -> FileReport:
    """The report on a file, with its new bytes if it is to be rewritten."""
    report = FileReport(loaded.file, is_parsed=True, off_limits=loaded.off_limits)
    report.unread += loaded.broken
    report.findings = [_noted(loaded, each) for each in found.findings]
    report.unknown += loaded.unknown
    report.unknown += [(_place(loaded, at, at), why) for at, why in found.unknown]
    report.marks = list(_marks(loaded, {each.code for each in found.findings}))
    report.left = report.findings
    if task.target and not report.off_limits:
        result = rewritten(found, task.target)
        try:
            if result.text != loaded.document.text:
                new = loaded.origin.encoded(result.text)
                check_rewritten(loaded, new)
                report.old, report.new = loaded.source, new
                report.done = [_noted(loaded, each) for each in result.done]
            report.left = [_noted(loaded, each) for each in result.left]
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
    return f"flaxoptim-compat made a mistake in it: {said}"


@contextlib.contextmanager
def deep_recursion() -> Iterator[None]:
    """Allow for code that is nested as deeply as Python's parser does."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _noted(loaded: Loaded, finding: Finding) -> Noted:
    place = _place(loaded, finding.start, finding.end)
    does = (finding.shim is not None, finding.optax is not None)
    texts = (finding.reason, finding.change, finding.cause)
    return Noted(finding.code, place, finding.what, finding.instead, *does, *texts)


def _marks(loaded: Loaded, codes: Container[str]) -> Iterator[tuple[Place, str]]:
    """The marks of what an earlier rewrite left on flaxoptim_compat, where it works."""
    for mark in marks_in(loaded.document.text):
        if mark.code not in codes:
            yield _place(loaded, mark.start + len("# "), mark.end), mark.text


def _place(loaded: Loaded, start: int, end: int) -> Place:
    position = loaded.document.position
    return loaded.origin.place(*position(start), *position(end))
