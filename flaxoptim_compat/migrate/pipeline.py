"""A run over files and folders: each file by itself, then those that belong together."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from flaxoptim_compat.migrate.analysis import analyse, analyse_alone
from flaxoptim_compat.migrate.examination import (
    Examined,
    Task,
    deep_recursion,
    examine,
    ignored_in,
    mistake,
    report_alone,
    report_of,
    unread,
)
from flaxoptim_compat.migrate.files import FoundFile, FoundFiles
from flaxoptim_compat.migrate.loading import Loaded, load
from flaxoptim_compat.migrate.program.linking import Links, Module, attributes_in
from flaxoptim_compat.migrate.reports import FileReport, Report
from flaxoptim_compat.migrate.source_text import Unreadable
from flaxoptim_compat.migrate.waiting import Waiting

Progress = Callable[[int, int], None]


def run(paths: Iterable[Path], task: Task, progress: Progress) -> Report:
    """Look for what is gone in files and folders, and work out what is to become of them.

    Nothing is written.

    Args:
      paths: files and folders.
      task: what the run is to do.
      progress: is told how many files are done, and of how many.
    """
    found = FoundFiles(paths, task.settings.is_excluded)
    with deep_recursion(), rare_collections():
        reports = _Run(found.files, task, progress).reports()
    return Report(reports, found.left_out, found.unreadable, found.unfinished)


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Look for garbage rarely: what is made here is needed until the end."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Run:
    """The files of a run, and what is known of them by now."""

    def __init__(self, files: Sequence[FoundFile], task: Task, progress: Progress) -> None:
        self._files = files
        self._task = task
        self._progress = progress
        self._examined: list[Examined] = []
        self._waiting = Waiting()
        self._reports: dict[int, FileReport] = {}

    def reports(self) -> list[FileReport]:
        for number, file in enumerate(self._files):
            self._examine(number, file)
            self._progress(number + 1, len(self._files))
        links = self._links()
        for number in range(len(self._files)):
            if number not in self._reports and number not in links.linked:
                self._read_alone(number)
        for group in links.groups():
            self._read_together(group)
        return [self._reports[number] for number in range(len(self._files))]

    def _examine(self, number: int, file: FoundFile) -> None:
        examined = examine(file)
        self._examined.append(examined._replace(loaded=None))
        if examined.report is not None:
            self._reports[number] = examined.report
        elif examined.loaded is not None:
            self._waiting.keep(number, examined.loaded)
            if number not in self._waiting and not examined.has_optimizers:
                # Most files turn out to belong to no other.
                self._reports[number] = report_alone(examined.loaded, self._task)

    def _links(self) -> Links:
        modules = [
            Module(file.module, file.is_package, each.imports, each.exports, each.has_optimizers)
            for file, each in zip(self._files, self._examined, strict=True)
        ]

        def attributes(number: int) -> set[str]:
            try:
                return attributes_in(self._files[number].path.read_bytes())
            except OSError:
                # It was there a moment ago; reading it with the others says what is the matter.
                return set()

        return Links(modules, attributes)

    def _read_alone(self, number: int) -> None:
        loaded = self._loaded(number)
        if loaded is not None:
            self._reports[number] = report_alone(loaded, self._task)

    def _read_together(self, group: Sequence[int]) -> None:
        """Read files that belong together."""
        found = ((number, self._loaded(number)) for number in group)
        loaded = {number: each for number, each in found if each is not None}
        mistakes: dict[int, FileReport] = {}
        while True:
            reports = self._analysed(loaded)
            stubborn = [
                number
                for number, report in reports.items()
                if report.kept and not loaded[number].kept
            ]
            if not stubborn:
                break
            # What others become may have counted on these.
            for number in stubborn:
                loaded[number].kept = reports[number].kept
                if reports[number].unread:
                    mistakes[number] = reports[number]
        self._reports |= reports | mistakes

    def _loaded(self, number: int) -> Loaded | None:
        """A file that was parsed, which is read again if it did not wait; None if it is gone."""
        loaded = self._waiting.take(number)
        if loaded is None:
            file = self._files[number]
            try:
                loaded = load(file, file.path.read_bytes())
            except (OSError, Unreadable) as error:
                self._reports[number] = unread(file, error)
        return loaded

    def _analysed(self, loaded: Mapping[int, Loaded]) -> dict[int, FileReport]:
        try:
            found = analyse(
                [each.document for each in loaded.values()],
                {each.file.path: ignored_in(each, self._task) for each in loaded.values()},
                writes=self._task.target == "optax",
                accept_changes=self._task.accept_changes,
                elsewhere=any(each.names_flax_optim for each in self._examined),
            )
        except Exception as error:
            return {number: self._by_itself(each, error) for number, each in loaded.items()}
        reports = {}
        for (number, each), findings in zip(loaded.items(), found, strict=True):
            try:
                reports[number] = report_of(each, findings, self._task)
            except Exception as error:
                reports[number] = unread(each.file, error)
                reports[number].kept = mistake(error)
        return reports

    def _by_itself(self, loaded: Loaded, error: Exception) -> FileReport:
        """What can be said of a file if reading it together with others has failed."""
        loaded.kept = loaded.kept or mistake(error)
        try:
            found = analyse_alone(loaded.document, ignored_in(loaded, self._task))
            report = report_of(loaded, found, self._task)
        except Exception:
            report = FileReport(loaded.file)
        report.unread.append((None, mistake(error)))
        return report
