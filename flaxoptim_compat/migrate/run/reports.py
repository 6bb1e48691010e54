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
from flaxoptim_compat.migrate.program.loading import EXCLUDED, FoundFile, Loaded
from flaxoptim_compat.migrate.program.source_text import Place
from flaxoptim_compat.migrate.values.objects import Site
from flaxoptim_compat.printable import one_line


class Noted(NamedTuple):
    """A finding as people and programs read of it.

    Args:
      code: the rule.
      place: where it stands.
      what: what it is.
      instead: what replaces it.
      shim: whether ``rewrite --to shim`` deals with it.
      optax: whether ``rewrite --to optax`` deals with it.
      reason: why it is left, if it is.
      change: how far the numbers will be from those of before; "" if they stay the same.
      cause: the reason of another place, for which this one stays; "" if there is none.
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


class Spot(NamedTuple):
    """A place in one of the files.

    Args:
      path: the file.
      place: where in it.
    """

    path: Path
    place: Place


class UnitReport(NamedTuple):
    """Optimizers that become TrainStates together, or stay together.

    Args:
      made: where they are made.
      held: the places that keep them from becoming TrainStates, the first of them first.
      reason: why the first does; "" if they become TrainStates.
      joined: the places that may be of any of them, if it is for these that they stay together.
      conversions: the commands that convert their checkpoints, if they become TrainStates, and the
        definition that each is for.
      is_reached: whether a run made one of them; None: there was no run.
      seen: how many places of theirs a run came to.
      inferred: the places of theirs that it did not come to.
    """

    made: list[Spot]
    held: list[Spot]
    reason: str
    joined: list[Spot]
    conversions: Sequence[tuple[Spot, str]] = ()
    is_reached: bool | None = None
    seen: int = 0
    inferred: Sequence[Spot] = ()

    @property
    def optimizers(self) -> int:
        """The number of optimizers; what comes from elsewhere counts as one."""
        return max(len(self.made), 1)


@dataclasses.dataclass
class FileReport:
    """The report on one file.

    Args:
      file: where it is.
      is_parsed: whether it was read as Python; if it names nothing that is gone it need not be.
      unread: what of it could not be read, and why; without a place: all of it.
      findings: in their order.
      unknown: names that were seen and not understood.
      marks: comments by which an earlier rewrite said what it left, where it is no finding now.
      old: its bytes, if they are to change.
      new: what they are to be; None: nothing changes.
      done: the findings that the change deals with.
      left: those that it does not.
      off_limits: why nothing in it is changed, whatever was found; "" if it may be.
      units: the optimizers of which it has the first use.
    """

    file: FoundFile
    is_parsed: bool = False
    unread: list[tuple[Place | None, str]] = dataclasses.field(default_factory=list)
    findings: list[Noted] = dataclasses.field(default_factory=list)
    unknown: list[tuple[Place, str]] = dataclasses.field(default_factory=list)
    marks: list[tuple[Place, str]] = dataclasses.field(default_factory=list)
    old: bytes = b""
    new: bytes | None = None
    done: list[Noted] = dataclasses.field(default_factory=list)
    left: list[Noted] = dataclasses.field(default_factory=list)
    off_limits: str = ""
    units: list[UnitReport] = dataclasses.field(default_factory=list)

    @property
    def path(self) -> Path:
        """The file, as it is shown."""
        return self.file.path


@dataclasses.dataclass
class Report:
    """All files of a run, in their order.

    Args:
      files: those that were seen.
      left_out: folders and links that were not looked into, and why.
      unreadable: paths that could not be looked at, and why.
      unfinished: files that a rewrite which was killed left behind.
      imported: what they import, without what stands behind a dot.
    """

    files: list[FileReport]
    left_out: list[tuple[Path, str]]
    unreadable: list[tuple[Path, str]]
    unfinished: list[Path]
    imported: frozenset[str] = frozenset()

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
        """The optimizers that do not, in the order of the lines that hold them."""
        found = [one for each in self.files for one in each.units if one.held]
        return sorted(found, key=lambda each: each.held[0])

    @property
    def moved(self) -> list[UnitReport]:
        """The optimizers that become TrainStates."""
        return [one for each in self.files for one in each.units if not one.held]

    @property
    def conversions(self) -> list[tuple[Spot, str]]:
        """The commands that convert checkpoints, and the definition that each is for."""
        return [each for file in self.files for unit in file.units for each in unit.conversions]

    @property
    def unread(self) -> list[tuple[Path, Place | None, str]]:
        """The files, folders and places that could not be read, and why."""
        found: list[tuple[Path, Place | None, str]] = []
        found += [(path, None, why) for path, why in self.unreadable]
        found += [(each.path, *why) for each in self.files for why in each.unread]
        return found

    @property
    def is_trouble(self) -> bool:
        """True if something could not be read, or there is nothing to read."""
        is_asked_for = any(why == EXCLUDED for _, why in self.left_out)
        return bool(self.unread) or not (self.files or is_asked_for)

    @property
    def left(self) -> list[Noted]:
        """The findings that stay as they are."""
        return [
            one for each in self.files for one in (each.findings if each.off_limits else each.left)
        ]

    @property
    def status(self) -> int:
        """The exit status of ``scan``: 2 trouble, 1 something was found, 0 nothing."""
        if self.is_trouble:
            return 2
        return 1 if any(each.findings or each.unknown or each.marks for each in self.files) else 0


def place_of(path: Path, place: Place) -> str:
    """A place as it is printed: ``path:line:column``, in a notebook with the cell."""
    return f"{line_of(path, place)}:{place.column}"


def line_of(path: Path, place: Place) -> str:
    """A line as it is printed: ``path:line``, in a notebook with the cell."""
    cell = f"cell {place.cell}:" if place.cell else ""
    return f"{one_line(path)}:{cell}{place.line}"


def unit_reports(
    units: Iterable[Unit], loaded: Mapping[Document, Loaded], has_run: bool = False
) -> Iterator[UnitReport]:
    """A report on each unit that makes an optimizer, or uses one that comes from elsewhere.

    Args:
      units: the units.
      loaded: all files that were read together.
      has_run: whether a run showed what it came to.
    """
    for unit in units:
        made = [each for each in unit.uses if each.makes]
        untouchable = [each for each in unit.uses if loaded[each.document].off_limits]
        held = untouchable or unit.problems
        if not made and not held:
            continue
        reason = ""
        if held:
            reason = loaded[held[0].document].off_limits or held[0].problem
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
            len(unit.uses) - len(unit.inferred),
            [_spot(each, loaded) for each in unit.inferred],
        )


def _lines(uses: Sequence[Use], loaded: Mapping[Document, Loaded]) -> list[Spot]:
    """The places of uses, one for each line: what stands in a line is mended together."""
    found: dict[tuple[Path, int], Spot] = {}
    for spot in (_spot(each, loaded) for each in uses):
        found.setdefault((spot.path, spot.place.file_line), spot)
    return list(found.values())


def _spot(at: Use | Site, loaded: Mapping[Document, Loaded]) -> Spot:
    start, end = map(at.document.position, at.document.span(at.node))
    return Spot(at.document.path, loaded[at.document].origin.place(*start, *end))


_REASONS = 5


class Reason(NamedTuple):
    """A reason for which ``rewrite --to optax`` leaves places.

    Args:
      number: how many it leaves for it.
      text: the reason.
      path: the file of the first place that has it.
      place: the place.
    """

    number: int
    text: str
    path: Path
    place: Place


class Plan(NamedTuple):
    """The way through a program.

    Args:
      findings: how many there are.
      shim: with how many of them ``rewrite --to shim`` deals.
      shim_leaves: the first one with which it does not; None: it deals with all.
      optax: with how many of them ``rewrite --to optax`` deals.
      begin_with: files in which nothing stays with ``--to optax``, those with most findings first.
      reasons: those for which most stays with ``--to optax``, not more than five.
    """

    findings: int
    shim: int
    shim_leaves: Spot | None
    optax: int
    begin_with: list[Path]
    reasons: list[Reason]


def plan_of(report: Report) -> Plan:
    """Work out the plan.

    Args:
      report: of a scan.
    """
    files = [each for each in report.files if each.findings]
    open_files = [each for each in files if not each.off_limits]
    easy = [each for each in open_files if all(one.optax for one in each.findings)]
    easy.sort(key=lambda each: (-len(each.findings), each.path))
    return Plan(
        findings=report.findings,
        shim=sum(one.shim for each in open_files for one in each.findings),
        shim_leaves=next(
            (
                Spot(each.path, one.place)
                for each in files
                for one in each.findings
                if each.off_limits or not one.shim
            ),
            None,
        ),
        optax=sum(one.optax for each in open_files for one in each.findings),
        begin_with=[each.path for each in easy],
        reasons=_reasons(files),
    )


def _reasons(files: list[FileReport]) -> list[Reason]:
    counts: collections.Counter[str] = collections.Counter()
    first: dict[str, tuple[FileReport, Noted]] = {}
    for file in files:
        for each in file.findings:
            text = file.off_limits or ("" if each.optax else each.reason or each.cause)
            if not text:
                continue
            counts[text] += 1
            # Where the reason itself stands rather than what stays because of it.
            if text not in first or (each.reason and not first[text][1].reason):
                first[text] = (file, each)
    return [
        Reason(number, text, first[text][0].path, first[text][1].place)
        for text, number in counts.most_common(_REASONS)
    ]
