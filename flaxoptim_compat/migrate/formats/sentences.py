"""Sentences that several formats share: on optimizers, and on code that was not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flaxoptim_compat.migrate.program.loading import SUFFIXES
from flaxoptim_compat.migrate.run.reports import (
    ReportedFinding,
    RunReport,
    Spot,
    UnitReport,
    line_of,
    place_of,
)
from flaxoptim_compat.printable import one_line

# So many lines are listed that hold optimizers back, were inferred, and make optimizers.
MOST_HELD = 10
MOST_INFERRED = 12
_MOST_MADE = 3

LEGEND = (
    "[*] rewrite changes this, [shim] or [optax] only with that --to, [=] works as it is,"
    " [-] only you can."
)


class Held(NamedTuple):
    """A line that holds optimizers back, so that they do not become plain TrainStates.

    Args:
      spot: the line.
      unit: the optimizers.
      text: why the line holds them back, and how many other lines do.
      joining: why the optimizers stay together, for the line that joins them; "" if none does.
    """

    spot: Spot
    unit: UnitReport
    text: str
    joining: str

    @property
    def whose(self) -> str:
        """The number of the optimizers, and where they are made."""
        made = made_in(self.unit)
        number = counted(self.unit.optimizers, "optimizer")
        return f"{number}, made in {made}" if made else "an optimizer from elsewhere"

    @property
    def title(self) -> str:
        """A heading over the line."""
        return "keeps optimizers dual" if self.unit.is_dual else "holds optimizers back"

    @property
    def sentence(self) -> str:
        """The line that says it, behind the place."""
        if not self.unit.is_dual:
            return f"holds back {self.whose}: {self.text}"
        state = "a DualTrainState" if self.unit.optimizers == 1 else "DualTrainStates"
        if self.unit.was_dual:
            return f"keeps {self.whose}, {state}: {self.text}"
        return f"makes {state} of {self.whose}: {self.text}"


def how_many(report: RunReport) -> str:
    """A sentence on how many optimizers become TrainStates and how many stay; "" without any."""
    becoming, stay = report.becoming, sum(each.optimizers for each in report.staying)
    if report.dual:
        return _with_dual(report, becoming, stay)
    if not becoming + stay:
        return ""
    become = "becomes a TrainState" if 1 in (becoming, becoming + stay) else "become TrainStates"
    number = counted(becoming + stay, "optimizer")
    return f"{becoming:,} of {number} {become}, {stay:,} {'stays' if stay == 1 else 'stay'}."


def _with_dual(report: RunReport, becoming: int, stay: int) -> str:
    dual = report.becoming_dual
    already = sum(each.optimizers for each in report.dual) - dual
    are = f"{counted(already, 'optimizer')} {_IS_DUAL[already == 1]}"
    if becoming + dual == 0:
        end = f", {stay:,} {'stays' if stay == 1 else 'stay'}" if stay else ""
        return f"{are}{end}."
    number = counted(becoming + dual + already + stay, "optimizer")
    move = "moves" if 1 in (becoming + dual, becoming + dual + stay) else "move"
    whither = f"{becoming:,} to TrainState, {dual:,} to DualTrainState"
    ends = [f"{already:,} {_IS_DUAL[already == 1]} already"] if already else []
    ends += [f"{stay:,} {'stays' if stay == 1 else 'stay'}"] if stay else []
    return f"{'; '.join([f'{becoming + dual:,} of {number} {move}: {whither}', *ends])}."


_IS_DUAL = {True: "is a DualTrainState", False: "are DualTrainStates"}


def held(staying: Sequence[UnitReport]) -> Iterator[Held]:
    """The lines that hold optimizers back: the first one for each group that stays together.

    Args:
      staying: the optimizers.
    """
    for each in staying:
        text = each.reason
        if others := len(each.held) - 1:
            does = ("does", "holds") if others == 1 else ("do", "hold")
            them = "it" if each.optimizers == 1 else "them"
            too = f"{does[0]} too" if each.is_dual else f"{does[1]} {them} back too"
            text += f" {counted(others, 'other line')} {too}."
        yield Held(each.held[0], each, text, _joining(each) if each.joined else "")


def unlisted(staying: Sequence[UnitReport]) -> str:
    """A line on how many groups of optimizers are not listed; "" if all are listed."""
    number = len(staying) - MOST_HELD
    return f"and {number:,} more, which scan --format concise lists" if number > 0 else ""


def made_in(unit: UnitReport) -> str:
    """The first lines in which optimizers are made, and how many others there are."""
    lines = list(dict.fromkeys(line_of(*each) for each in unit.made))
    number = len(lines) - _MOST_MADE
    return ", ".join(lines[:_MOST_MADE]) + (f" and {number:,} more" if number > 0 else "")


def _joining(unit: UnitReport) -> str:
    text = (
        f"the value may be any of the optimizers made in {made_in(unit)}, so they stay together."
        " Use only one of them here, and run rewrite again."
    )
    if others := len(unit.joined) - 1:
        text += f" {counted(others, 'other line')} {'does' if others == 1 else 'do'} the same."
    return text


def mark(finding: ReportedFinding) -> str:
    """The sign that says which ``rewrite`` deals with a finding, as ``LEGEND`` explains it."""
    if finding.works:
        return "[=]"
    marks = {(True, True): "[*]", (True, False): "[shim]", (False, True): "[optax]"}
    return marks.get((finding.shim, finding.optax), "[-]")


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def first_of(lines: Sequence[str], most: int, option: str) -> Iterator[str]:
    """The first lines, and a line on how many others there are.

    Args:
      lines: all lines.
      most: how many are shown.
      option: the option that lists all of them.
    """
    yield from lines[:most]
    if (number := len(lines) - most) > 0:
        yield f"and {number:,} more, which {option} lists"


def optimizers(report: RunReport, most: int | None = MOST_HELD) -> Iterator[str]:
    """The number of optimizers that become TrainStates, and the lines that hold the others back.

    Args:
      report: the report of the run.
      most: how many such lines are listed; None: all.
    """
    staying = [*report.staying, *report.dual]
    for each in held(staying[:most]):
        yield f"{line_of(*each.spot)}: {each.sentence}"
        if each.joining:
            yield f"{line_of(*each.unit.joined[0])}: {each.joining}"
    if most is not None:
        yield from filter(None, [unlisted(staying)])
    yield from filter(None, [how_many(report)])


def run_lines(report: RunReport) -> Iterator[str]:
    """The lines on the places of moving optimizers that a run came to, or did not come to."""
    reached = [each for each in report.moved if each.is_reached]
    inferred = [spot for each in reached for spot in each.inferred]
    if reached:
        seen = sum(each.seen for each in reached)
        yield (
            f"{counted(seen, 'place')} seen in the run, {len(inferred):,} inferred,"
            f" {len(report.unknown):,} not understood."
        )
    if inferred:
        lines = dict.fromkeys(line_of(*each) for each in sorted(inferred))
        inferred_lines = [f"{line}: the run did not come here: inferred" for line in lines]
        yield from first_of(inferred_lines, MOST_INFERRED, "the patch")
    for each in report.moved:
        if each.is_reached is False and each.made:
            yield f"{made_in(each)}: the run did not come here: rewritten from the text alone"


def asides(report: RunReport) -> Iterator[list[str]]:
    """The lines, kind by kind, on names and files that are in no finding."""
    yield [f"{place_of(path, place)}: not understood: {why}" for path, place, why in report.unknown]
    yield [
        f"{place_of(path, place)}: left by an earlier rewrite: {text}"
        for path, place, text in report.marks
    ]
    yield [
        f"{place_of(path, place) if place else one_line(path)}: not read: {why}"
        for path, place, why in report.unread
    ]
    yield [f"{one_line(path)}: left out: {why}" for path, why in report.left_out]
    yield [
        f"{one_line(path)}: left behind by a rewrite that was killed: delete the file"
        for path in report.unfinished
    ]


def counts(report: RunReport) -> Iterator[str]:
    """Two lines: the number of findings, and how much was read and understood."""
    yield number_of_findings(report)
    parsed = sum(each.is_parsed for each in report.files)
    unnamed = sum(not each.is_parsed and not each.unread for each in report.files)
    yield (
        f"{counted(parsed, 'file')} parsed, {unnamed:,} without names that are gone,"
        f" {unread_files(report):,} not read, {counted(len(report.unknown), 'name')}"
        " not understood."
    )


def number_of_findings(report: RunReport) -> str:
    """A sentence on how many findings there are, in how many files."""
    if not report.files and report.unreadable:
        return "No file was read."
    if not report.files:
        return f"No Python file was found: no name ends in {', '.join(SUFFIXES)}."
    with_findings = sum(bool(each.findings) for each in report.files)
    files = counted(len(report.files), "file")
    return f"{counted(report.findings, 'finding')} in {with_findings:,} of {files}."


def unread_files(report: RunReport) -> int:
    """The number of files and folders that were not read, or only in part."""
    return sum(bool(each.unread) for each in report.files) + len(report.unreadable)
