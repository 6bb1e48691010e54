"""A run over files and folders: each file by itself, then those that belong together."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from flaxoptim_compat.migrate.program.linking import Links, ProgramFile
from flaxoptim_compat.migrate.program.loading import FoundFile, FoundFiles, Loaded, Waiting, load
from flaxoptim_compat.migrate.run.analysis import FileFindings, Task, analyse
from flaxoptim_compat.migrate.run.examination import (
    deep_recursion,
    examine,
    ignored_in,
    mistake,
    report_of,
    unread,
)
from flaxoptim_compat.migrate.run.reports import FileReport, RunReport, unit_reports
from flaxoptim_compat.migrate.values.evidence import Evidence
from flaxoptim_compat.observation.places import digest

Progress = Callable[[int, int, str], None]

# After the analysis of so many bytes of source, its garbage is collected.
_MOST_ANALYSED = 1_000_000


def run(paths: Iterable[Path], task: Task, progress: Progress) -> RunReport:
    """Find the code to rewrite in files and folders, and work out the rewritten files.

    Nothing is written.

    Args:
      paths: files and folders.
      task: the options of the run.
      progress: is told how many files are done, of how many, and what is read next.
    """
    files = FoundFiles(paths, task.settings.is_excluded)
    with deep_recursion(), _no_collection():
        program = _Program(files.files, task, progress)
        reports = program.reports()
    places = (files.left_out, files.unreadable, files.unfinished)
    return RunReport(reports, *places, program.imported())


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Collect garbage only where ``gc.collect`` is called: trees are many, and no garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # The objects of the run count as old from now on, so that no collection walks them soon.
        gc.freeze()
        gc.unfreeze()
        if was_enabled:
            gc.enable()


class _Program:
    """The files of a program, and what is known of them by now."""

    def __init__(self, files: Sequence[FoundFile], task: Task, progress: Progress) -> None:
        self._files = files
        self._task = task
        self._progress = progress
        # The bytes of source whose analysis may have left garbage.
        self._analysed_bytes = 0
        self._examined: list[ProgramFile] = []
        self._waiting = Waiting()
        self._reports: dict[int, FileReport] = {}
        # The files that may be in one process with an optimizer.
        self._near: frozenset[int] = frozenset()
        self._names_flax_optim = False
        self._moves_optimizers = False

    def reports(self) -> list[FileReport]:
        for number, file in enumerate(self._files):
            self._progress(number, len(self._files), str(file.path))
            program_file, result = examine(file)
            self._examined.append(program_file)
            if isinstance(result, Loaded):
                self._waiting.keep(number, result)
            else:
                self._reports[number] = result
        if any(each.partition(".")[0] == "tensorflow" for each in self.imported()):
            self._task = self._task._replace(has_tensorflow=True)
        links = Links(self._examined)
        ran = self._task.uses.files if self._task.uses is not None else ()
        shown = {n for n, each in enumerate(self._files) if os.path.abspath(each.path) in ran}
        groups = _joined(links.groups(), shown)
        self._near = links.near | shown
        self._names_flax_optim = any(each.names_flax_optim for each in self._examined)
        for group in sorted(groups, key=self._reads_what_others_save):
            self._say(group)
            self._analyse(group)
        return [self._reports[number] for number in range(len(self._files))]

    def _reads_what_others_save(self, group: Sequence[int]) -> tuple[bool, bool]:
        """Whether files name entries of a checkpoint, and whether they have no optimizer.

        Such groups come last: then it is known whether optimizers of other files move.
        """
        files = [self._examined[number] for number in group]
        entries = any(each.mentions.entries for each in files)
        return entries, not any(each.names_flax_optim for each in files)

    def imported(self) -> frozenset[str]:
        """The names that the files import."""
        return frozenset[str]().union(*(each.imports for each in self._examined))

    def _say(self, numbers: Sequence[int]) -> None:
        """Show which files are read together; all of them were read by themselves before."""
        count = len(self._files)
        others = f" and {len(numbers) - 1} with it" if len(numbers) > 1 else ""
        self._progress(count, count, f"{self._files[numbers[0]].path}{others}")

    def _analyse(self, group: Sequence[int]) -> None:
        if self._analysed_bytes > _MOST_ANALYSED:
            gc.collect()
            self._analysed_bytes = 0
        loaded = {number: each for number in group if (each := self._loaded(number))}
        if not self._analysed_bytes:
            # What is there now is no garbage, and no collection need walk it.
            gc.freeze()
        self._analysed_bytes += sum(len(each.source) for each in loaded.values())
        reports = self._together(loaded)
        units = (unit for report in reports.values() for unit in report.units)
        moved = (unit for unit in units if unit.is_dual or not unit.held)
        self._moves_optimizers |= any(unit.made for unit in moved)
        self._reports |= reports

    def _together(self, loaded: Mapping[int, Loaded]) -> dict[int, FileReport]:
        mistakes: dict[int, FileReport] = {}
        while True:
            reports = self._analysed(loaded)
            stubborn = [
                number
                for number, report in reports.items()
                if report.off_limits and not loaded[number].off_limits
            ]
            if not stubborn:
                return reports | mistakes
            # Edits of other files may count on these files.
            for number in stubborn:
                loaded[number].off_limits = reports[number].off_limits
                if reports[number].unread:
                    mistakes[number] = reports[number]

    def _loaded(self, number: int) -> Loaded | None:
        """A file that was parsed, which is read again if it did not wait; None if it is gone."""
        loaded = self._waiting.take(number)
        if loaded is None:
            file = self._files[number]
            try:
                loaded = load(file, file.path.read_bytes())
            except Exception as error:
                self._reports[number] = unread(file.path, error)
        return loaded

    def _analysed(self, loaded: Mapping[int, Loaded]) -> dict[int, FileReport]:
        try:
            evidence = self._evidence(loaded)
            analysed = self._findings(loaded, self._near, self._task, evidence)
        except Exception as error:
            return {number: self._by_itself(number, each, error) for number, each in loaded.items()}
        reports = {}
        by_document = {each.document: each for each in loaded.values()}
        for (number, each), findings in zip(loaded.items(), analysed, strict=True):
            try:
                report = reports[number] = report_of(each, findings, self._task)
                report.units += unit_reports(findings.units, by_document, evidence is not None)
            except Exception as error:
                reports[number] = unread(each.file.path, error)
                reports[number].off_limits = mistake(error)
        return reports

    def _evidence(self, loaded: Mapping[int, Loaded]) -> Evidence | None:
        """The evidence of a run about files that have not changed since; None without a run."""
        if self._task.uses is None or self._near.isdisjoint(loaded):
            return None
        files = {os.path.abspath(each.file.path): each for each in loaded.values()}
        digests = {path: digest(each.source) for path, each in files.items()}
        uses = self._task.uses.of_today(digests)
        unchanged = [
            each.document for path, each in files.items() if uses.is_of(path, digests[path])
        ]
        changed = [
            path
            for path, each in files.items()
            if path in uses.files and each.document not in unchanged
        ]
        if not unchanged:
            return Evidence(uses, changed=changed)
        from_the_text = self._findings(loaded, self._near, self._task._replace(target=""))
        moved = [
            site.node
            for file in from_the_text
            for unit in file.units
            if unit.converts
            for site in unit.sites
        ]
        return Evidence(uses, unchanged, changed, moved)

    def _findings(
        self,
        loaded: Mapping[int, Loaded],
        near: Collection[int],
        task: Task,
        evidence: Evidence | None = None,
    ) -> list[FileFindings]:
        """The findings in files that are read together; only those near may have optimizers."""
        return analyse(
            [each.document for each in loaded.values()],
            {each.file.path: ignored_in(each, self._task) for each in loaded.values()},
            task,
            elsewhere=self._names_flax_optim,
            moves_elsewhere=self._moves_optimizers,
            without_optimizers={loaded[number].document for number in loaded.keys() - {*near}},
            evidence=evidence,
        )

    def _by_itself(self, number: int, loaded: Loaded, error: Exception) -> FileReport:
        """The report on a file by itself, after the files could not be read together."""
        loaded.off_limits = loaded.off_limits or mistake(error)
        try:
            (findings,) = self._findings({number: loaded}, (), self._task)
            report = report_of(loaded, findings, self._task)
        except Exception:
            report = FileReport(loaded.file.path)
        report.unread.append((None, mistake(error)))
        return report


def _joined(groups: Sequence[Sequence[int]], shown: set[int]) -> list[Sequence[int]]:
    """The groups, with all groups in which a run saw an optimizer joined into one."""
    apart = [each for each in groups if shown.isdisjoint(each)]
    together = shown.union(*(each for each in groups if not shown.isdisjoint(each)))
    return [*apart, sorted(together)] if together else apart
