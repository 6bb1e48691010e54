"""The report of a run: files and their findings, optimizers as a whole, and what to do first."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.loading import EXCLUDED, READ_ONLY, Loaded
from flaxoptim_compat.migrate.program.source_text import Place
from flaxoptim_compat.migrate.values.objects import Site
from flaxoptim_compat.printable import one_line


class ReportedFinding(NamedTuple):
    """A finding as it is printed, for people and for programs.

    Args:
      code: the rule.
      place: the place of the code.
      what: the name of the code in a sentence.
      instead: the code that replaces it, or the advice.
      shim: whether ``rewrite --to shim`` deals with the finding.
      optax: whether ``rewrite --to optax`` deals with the finding.
      reason: why the code is left; "" if it is not.
      change: how far the numbers will be from those of before; "" if they stay the same.
      cause: the reason of another place, for which this one is left; "" if there is none.
      works: whether the code works as it is after ``rewrite --to optax``.
    """

    code: str
    place: Place
    what: str
    instead: str
    shim: bool
    optax: bool
    reason: str
    change: str
    cause: str = ""
    works: bool = False


class Spot(NamedTuple):
    """A place in one of the files.

    Args:
      path: the file.
      place: the place in the file.
    """

    path: Path
    place: Place


class UnitReport(NamedTuple):
    """Optimizers that become TrainStates, or DualTrainStates, together, or stay together.

    Args:
      made: the places where they are made.
      held: the places that keep them from becoming TrainStates, in the order of the files.
      reason: why the first of these places does; "" if the optimizers become TrainStates.
      joined: the places that may use any of them, if these are why they stay together.
      conversions: the commands that convert their checkpoints, if they become TrainStates, each
        with the place of the definition.
      is_reached: whether a run made one of them; None: there was no run.
      seen: the number of their places that a run came to.
      inferred: their places that the run did not come to.
      is_dual: whether they become DualTrainStates, since something keeps them from TrainStates.
      was_dual: whether they are DualTrainStates already.
    """

    made: list[Spot]
    held: list[Spot]
    reason: str
    joined: list[Spot]
    conversions: Sequence[tuple[Spot, str]] = ()
    is_reached: bool | None = None
    seen: int = 0
    inferred: Sequence[Spot] = ()
    is_dual: bool = False
    was_dual: bool = False

    @property
    def optimizers(self) -> int:
        """The number of optimizers; optimizers from elsewhere count as one."""
        return max(len(self.made), 1)


@dataclasses.dataclass
class FileReport:
    """The report on one file.

    Args:
      path: the file, as it is shown.
      is_parsed: whether the file was parsed; a file that names nothing that is gone need not be.
      unread: the parts that could not be read, and why; without a place: the whole file.
      findings: the findings, in the order of their places.
      unknown: the names that were not understood, and why.
      marks: the comments in which an earlier rewrite said what it left, where no finding is now.
      old: the bytes of the file, if they are to change.
      new: the new bytes; None: the file does not change.
      done: the findings that the change deals with.
      left: the findings that stay; all of them if the file never changes.
      off_limits: why the file is never changed; "" if it may be.
      units: the optimizers whose first use is in the file.
    """

    path: Path
    is_parsed: bool = False
    unread: list[tuple[Place | None, str]] = dataclasses.field(default_factory=list)
    findings: list[ReportedFinding] = dataclasses.field(default_factory=list)
    unknown: list[tuple[Place, str]] = dataclasses.field(default_factory=list)
    marks: list[tuple[Place, str]] = dataclasses.field(default_factory=list)
    old: bytes = b""
    new: bytes | None = None
    done: list[ReportedFinding] = dataclasses.field(default_factory=list)
    left: list[ReportedFinding] = dataclasses.field(default_factory=list)
    off_limits: str = ""
    units: list[UnitReport] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class RunReport:
    """All files of a run, in their order.

    Args:
      files: the reports on the files that were seen.
      left_out: the folders and links that were not entered, and why.
      unreadable: the paths that could not be read, and why.
      unfinished: the files that a killed rewrite left behind.
      imported: the names that the files import.
    """

    files: list[FileReport]
    left_out: list[tuple[Path, str]]
    unreadable: list[tuple[Path, str]]
    unfinished: list[Path]
    imported: frozenset[str] = frozenset()

    @property
    def found(self) -> list[tuple[FileReport, ReportedFinding]]:
        """The findings, each behind the report on its file."""
        return [(file, each) for file in self.files for each in file.findings]

    @property
    def findings(self) -> int:
        """The number of findings."""
        return sum(len(each.findings) for each in self.files)

    @property
    def becoming(self) -> int:
        """The number of optimizers that become TrainStates with ``rewrite --to optax``."""
        return sum(each.optimizers for each in self.moved)

    @property
    def staying(self) -> list[UnitReport]:
        """The optimizers that stay, in the order of the lines that hold them back."""
        return [each for each in self.held if not each.is_dual]

    @property
    def dual(self) -> list[UnitReport]:
        """The optimizers that become DualTrainStates, in the order of the lines that say why."""
        return [each for each in self.held if each.is_dual]

    @property
    def becoming_dual(self) -> int:
        """How many optimizers become DualTrainStates, which they are not yet."""
        return sum(each.optimizers for each in self.dual if not each.was_dual)

    @property
    def held(self) -> list[UnitReport]:
        """The optimizers that do not become plain TrainStates, in the order of these lines."""
        units = [unit for file in self.files for unit in file.units if unit.held]
        return sorted(units, key=lambda unit: unit.held[0])

    @property
    def moved(self) -> list[UnitReport]:
        """The optimizers that become TrainStates."""
        return [unit for file in self.files for unit in file.units if not unit.held]

    @property
    def conversions(self) -> list[tuple[Spot, str]]:
        """The commands that convert checkpoints, and the definition that each is for."""
        return [each for file in self.files for unit in file.units for each in unit.conversions]

    @property
    def unread(self) -> list[tuple[Path, Place | None, str]]:
        """The files, folders and places that could not be read, and why."""
        unread: list[tuple[Path, Place | None, str]] = []
        unread += [(path, None, why) for path, why in self.unreadable]
        unread += [(file.path, *part) for file in self.files for part in file.unread]
        return unread

    @property
    def is_trouble(self) -> bool:
        """True if a file could not be read, or there is no file to read."""
        is_asked_for = any(why == EXCLUDED for _, why in self.left_out)
        return bool(self.unread) or not (self.files or is_asked_for)

    @property
    def is_read_only(self) -> bool:
        """True if a file would be rewritten, but for its permissions."""
        return any(each.off_limits == READ_ONLY for each in self.untouched)

    @property
    def untouched(self) -> list[FileReport]:
        """The files with findings that are never changed."""
        return [each for each in self.files if each.off_limits and each.findings]

    @property
    def unknown(self) -> list[tuple[Path, Place, str]]:
        """The names that were not understood, and why."""
        return [(file.path, *each) for file in self.files for each in file.unknown]

    @property
    def marks(self) -> list[tuple[Path, Place, str]]:
        """The comments of an earlier rewrite, where no finding is now."""
        return [(file.path, *each) for file in self.files for each in file.marks]

    @property
    def left(self) -> list[ReportedFinding]:
        """The findings that stay as they are."""
        return [finding for file in self.files for finding in file.left]

    @property
    def status(self) -> int:
        """The exit status of ``scan``: 2 if a file could not be read, 1 with findings, else 0."""
        if self.is_trouble:
            return 2
        return 1 if self.findings or self.unknown or self.marks else 0


def place_of(path: Path, place: Place) -> str:
    """A place as it is printed: ``path:line:column``, in a notebook with the cell."""
    return f"{line_of(path, place)}:{place.column}"


def line_of(path: Path, place: Place) -> str:
    """A line as it is printed: ``path:line``, in a notebook with the cell."""
    cell = f"cell {place.cell}:" if place.cell else ""
    return f"{one_line(path)}:{cell}{place.line}"


def unit_reports(
    units: Iterable[Unit], loaded: Mapping[Document, Loaded], has_run: bool
) -> Iterator[UnitReport]:
    """A report on each unit that makes an optimizer, or uses one that comes from elsewhere.

    Args:
      units: the units.
      loaded: all files that were read together.
      has_run: whether a run was observed.
    """
    for unit in units:
        made = [each for each in unit.uses if each.makes]
        untouchable = [each for each in unit.uses if loaded[each.document].off_limits]
        held = unit.problems if unit.is_dual else untouchable or unit.problems
        if not made and not held:
            continue
        reason = ""
        if held:
            off_limits = "" if unit.is_dual else loaded[held[0].document].off_limits
            # A sentence, as the others are.
            reason = f"{off_limits[0].upper()}{off_limits[1:]}." if off_limits else held[0].problem
        joined = unit.joined if held and len(made) > 1 else []
        yield UnitReport(
            [_spot(each, loaded) for each in made],
            _lines(held, loaded),
            reason,
            _lines(joined, loaded),
            [(_spot(site, loaded), command) for command, site in unit.conversions.items()]
            if not held
            else [],
            unit.is_reached if has_run else None,
            len(unit.uses) - sum(isinstance(each, Use) for each in unit.inferred),
            [_spot(each, loaded) for each in unit.inferred],
            unit.is_dual,
            unit.was_dual,
        )


def _lines(uses: Sequence[Use], loaded: Mapping[Document, Loaded]) -> list[Spot]:
    """The places of uses, one for each line, since people change a line at once."""
    by_line: dict[tuple[Path, int], Spot] = {}
    for spot in (_spot(each, loaded) for each in uses):
        by_line.setdefault((spot.path, spot.place.file_line), spot)
    return list(by_line.values())


def _spot(at: Use | Site, loaded: Mapping[Document, Loaded]) -> Spot:
    start, end = map(at.document.position, at.document.span(at.node))
    return Spot(at.document.path, loaded[at.document].origin.place(*start, *end))


_REASONS = 5


class Reason(NamedTuple):
    """A reason for which ``rewrite --to optax`` leaves places.

    Args:
      number: how many places are left for the reason.
      text: the reason.
      first: the first such place.
    """

    number: int
    text: str
    first: Spot


class MigrationPlan(NamedTuple):
    """The next steps in a program: what either ``rewrite`` deals with, and where to begin.

    Args:
      findings: the number of findings.
      shim: the number of findings that ``rewrite --to shim`` deals with.
      shim_leaves: the place of the first finding that it leaves; None: it deals with all.
      optax: the number of findings that ``rewrite --to optax`` changes.
      works: the number of findings that work as they are after it.
      begin_with: the files in which ``--to optax`` leaves nothing, those with most findings first.
      reasons: the reasons for which ``--to optax`` leaves most, not more than five.
    """

    findings: int
    shim: int
    shim_leaves: Spot | None
    optax: int
    works: int
    begin_with: list[Path]
    reasons: list[Reason]


def migration_plan(report: RunReport) -> MigrationPlan:
    """The plan for a program.

    Args:
      report: the report of a scan.
    """
    easy = [
        file
        for file in report.files
        if file.findings
        and not file.off_limits
        and all(each.optax or each.works for each in file.findings)
    ]
    easy.sort(key=lambda each: (-len(each.findings), each.path))
    shim_leaves = (
        Spot(file.path, each.place)
        for file, each in report.found
        if file.off_limits or not each.shim
    )
    return MigrationPlan(
        findings=report.findings,
        shim=sum(each.shim for file, each in report.found if not file.off_limits),
        shim_leaves=next(shim_leaves, None),
        optax=sum(each.optax for file, each in report.found if not file.off_limits),
        works=sum(each.works for file, each in report.found if not file.off_limits),
        begin_with=[each.path for each in easy],
        reasons=_reasons(report),
    )


def _reasons(report: RunReport) -> list[Reason]:
    counts: collections.Counter[str] = collections.Counter()
    first: dict[str, tuple[Spot, str]] = {}
    for file, each in report.found:
        is_left = not each.optax and not each.works
        text = file.off_limits or (each.reason or each.cause if is_left else "")
        if not text:
            continue
        counts[text] += 1
        # The place that has the reason goes before places that stay because of it.
        if text not in first or (each.reason and not first[text][1]):
            first[text] = Spot(file.path, each.place), each.reason
    return [Reason(number, text, first[text][0]) for text, number in counts.most_common(_REASONS)]
