"""A run over files and folders: each file by itself, then those that belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from flaxoptim_compat.migrate.analysis import analyse, analyse_alone
from flaxoptim_compat.migrate.examination import (
    Examined,
    Task,
    deep_recursion,
    ignored_in,
    mistake,
    reason_of,
    report_of,
)
from flaxoptim_compat.migrate.files import FoundFile, FoundFiles
from flaxoptim_compat.migrate.linking import Links, Module, attributes_in
from flaxoptim_compat.migrate.loading import Loaded, load
from flaxoptim_compat.migrate.reports import FileReport, Report
from flaxoptim_compat.migrate.source_text import Unreadable
from flaxoptim_compat.migrate.workers import Progress, examine_all


def run(paths: Iterable[Path], task: Task, progress: Progress) -> Report:
    """Look for what is gone in files and folders, and work out what is to become of them.

    Nothing is written.

    Args:
      paths: files and folders.
      task: what the run is to do.
      progress: is told how many files are done, and of how many.
    """
    found = FoundFiles(paths, task.settings.is_excluded)
    examined = examine_all(found.files, task, progress)
    reports = [each.report for each in examined]
    for number, report in _together(_linked(found.files, examined), task).items():
        reports[number] = report
    return Report(reports, found.left_out, found.unreadable, found.unfinished)


def _linked(files: Sequence[FoundFile], examined: Sequence[Examined]) -> dict[int, FoundFile]:
    """The files that must be read together: those with optimizers, and those that names link."""
    modules = [
        Module(file.module, file.is_package, each.imports, each.exports, each.has_optimizers)
        for file, each in zip(files, examined, strict=True)
    ]

    def attributes(number: int) -> set[str]:
        try:
            return attributes_in(files[number].path.read_bytes())
        except OSError:
            # It was there a moment ago; reading it with the others says what is the matter.
            return set()

    return {number: files[number] for number in sorted(Links(modules, attributes).linked)}


def _together(files: dict[int, FoundFile], task: Task) -> dict[int, FileReport]:
    """The reports of files that are read together, by their numbers."""
    loaded: dict[int, Loaded] = {}
    reports: dict[int, FileReport] = {}
    for number, file in files.items():
        try:
            loaded[number] = load(file, file.path.read_bytes())
        except (OSError, Unreadable) as error:
            reports[number] = _unread(file, reason_of(error))
    mistakes: dict[int, FileReport] = {}
    with deep_recursion():
        while True:
            found = _analysed(loaded, task)
            stubborn = [
                number
                for number, report in found.items()
                if report.kept and not loaded[number].kept
            ]
            if not stubborn:
                return reports | found | mistakes
            # What others become may have counted on these.
            for number in stubborn:
                loaded[number].kept = found[number].kept
                if found[number].unread:
                    mistakes[number] = found[number]


def _analysed(loaded: Mapping[int, Loaded], task: Task) -> dict[int, FileReport]:
    try:
        found = analyse(
            [each.document for each in loaded.values()],
            {each.file.path: ignored_in(each, task) for each in loaded.values()},
            writes=task.target == "optax",
            accept_changes=task.accept_changes,
        )
    except Exception as error:
        return {number: _by_itself(each, task, error) for number, each in loaded.items()}
    reports = {}
    for (number, each), findings in zip(loaded.items(), found, strict=True):
        try:
            reports[number] = report_of(each, findings, task)
        except Exception as error:
            reports[number] = _unread(each.file, mistake(error))
            reports[number].kept = reports[number].unread[0][1]
    return reports


def _by_itself(loaded: Loaded, task: Task, error: Exception) -> FileReport:
    """What can be said of a file if reading it together with others has failed."""
    loaded.kept = loaded.kept or mistake(error)
    try:
        report = report_of(loaded, analyse_alone(loaded.document, ignored_in(loaded, task)), task)
    except Exception:
        report = FileReport(loaded.file)
    report.unread.append((None, mistake(error)))
    return report


def _unread(file: FoundFile, why: str) -> FileReport:
    return FileReport(file, unread=[(None, why)])
