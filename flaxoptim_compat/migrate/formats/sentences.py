"""Sentences of several formats: on optimizers, and on what was not read or not understood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flaxoptim_compat.migrate.program.loading import SUFFIXES
from flaxoptim_compat.migrate.run.reports import (
    Noted,
    Report,
    Spot,
    UnitReport,
    line_of,
    place_of,
)
from flaxoptim_compat.printable import one_line

# What is listed for people of the lines that hold optimizers, and of those that make them.
MOST_HELD = 10
MOST_INFERRED = 12
_MOST_MADE = 3

LEGEND = "[*] rewrite can do it, [shim] or [optax] only with that --to, [-] only you can."


class Held(NamedTuple):
    """A line that keeps optimizers from becoming TrainStates.

    Args:
      spot: the line.
      unit: the optimizers.
      text: why, and how many other lines do.
      joining: what joins them, without the line that this begins with; "" if nothing does.
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


def how_many(report: Report) -> str:
    """A sentence on how many optimizers become TrainStates and how many stay; "" without any."""
    becoming, stay = report.becoming, sum(each.optimizers for each in report.staying)
    if not becoming + stay:
        return ""
    become = "becomes a TrainState" if 1 in (becoming, becoming + stay) else "become TrainStates"
    number = counted(becoming + stay, "optimizer")
    return f"{becoming:,} of {number} {become}, {stay:,} {'stays' if stay == 1 else 'stay'}."


def held(staying: Sequence[UnitReport]) -> Iterator[Held]:
    """The lines that hold optimizers, the first of each that stay together.

    Args:
      staying: the optimizers.
    """
    for each in staying:
        text = each.reason
        if others := len(each.held) - 1:
            holds = "holds" if others == 1 else "hold"
            text += f" {counted(others, 'other line')} {holds} it too."
        if each.is_reached is False:
            text += " The run made no such optimizer: run a command that does."
        yield Held(each.held[0], each, text, _joining(each) if each.joined else "")


def others(staying: Sequence[UnitReport]) -> str:
    """A line on how many more there are than are listed; "" if all are listed."""
    number = len(staying) - MOST_HELD
    return f"and {number:,} more, which scan --format concise lists" if number > 0 else ""


def made_in(unit: UnitReport) -> str:
    """The lines in which optimizers are made, or the first of them."""
    lines = list(dict.fromkeys(line_of(*each) for each in unit.made))
    number = len(lines) - _MOST_MADE
    return ", ".join(lines[:_MOST_MADE]) + (f" and {number:,} more" if number > 0 else "")


def _joining(unit: UnitReport) -> str:
    also = len(unit.joined) - 1
    start = f"and {counted(also, 'other line')} " if also else ""
    return (
        f"{start}may be any of these optimizers: {made_in(unit)}, so they stay together;"
        " see that it is given one of them, and run again"
    )


def mark(finding: Noted) -> str:
    """The sign that says which ``rewrite`` deals with a finding, as ``LEGEND`` explains it."""
    marks = {(True, True): "[*]", (True, False): "[shim]", (False, True): "[optax]"}
    return marks.get((finding.shim, finding.optax), "[-]")


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def first_of(lines: Sequence[str], most: int, option: str) -> Iterator[str]:
    """The first lines, how many others there are, and what lists them.

    Args:
      lines: all of them.
      most: how many are shown.
      option: what lists them.
    """
    yield from lines[:most]
    if (number := len(lines) - most) > 0:
        yield f"and {number:,} more, which {option} lists"


def optimizers(report: Report, most: int | None = MOST_HELD) -> Iterator[str]:
    """The number that becomes TrainStates, and the line that holds each of the others.

    Args:
      report: what was found.
      most: how many lines that hold optimizers are listed; None: all.
    """
    staying = report.staying
    for each in held(staying[:most]):
        yield f"{line_of(*each.spot)}: holds {each.whose}: {each.text}"
        if each.joining:
            yield f"{line_of(*each.unit.joined[0])}: {each.joining}"
    if most is not None:
        yield from filter(None, [others(staying)])
    yield from filter(None, [how_many(report)])


def run_lines(report: Report) -> Iterator[str]:
    """The lines on what a run showed of the optimizers that become TrainStates."""
    reached = [each for each in report.moved if each.is_reached]
    inferred = [spot for each in reached for spot in each.inferred]
    if reached:
        seen = sum(each.seen for each in reached)
        left = unknown_names(report)
        places = counted(seen, "place")
        yield f"{places} seen in the run, {len(inferred):,} inferred, {left:,} left."
    if inferred:
        lines = dict.fromkeys(line_of(*each) for each in sorted(inferred))
        yield from first_of([f"{each}: inferred" for each in lines], MOST_INFERRED, "the patch")
    for each in report.moved:
        if each.is_reached is False and each.made:
            yield f"{made_in(each)}: the run did not come here: rewritten from the text alone"


def asides(report: Report) -> Iterator[list[str]]:
    """Lines on what is in no finding, kind by kind, so that nothing is left out in silence."""
    yield [
        f"{place_of(each.path, place)}: not understood: {why}"
        for each in report.files
        for place, why in each.unknown
    ]
    yield [
        f"{place_of(each.path, place)}: left by an earlier rewrite: {text}"
        for each in report.files
        for place, text in each.marks
    ]
    yield [
        f"{place_of(path, place) if place else one_line(path)}: not read: {why}"
        for path, place, why in report.unread
    ]
    yield [f"{one_line(path)}: left out: {why}" for path, why in report.left_out]
    yield [
        f"{one_line(path)}: left behind by a rewrite that was killed; it can be deleted"
        for path in report.unfinished
    ]


def counts(report: Report) -> Iterator[str]:
    """Two lines: the number of findings, and how much was read and understood."""
    yield found(report)
    parsed = sum(each.is_parsed for each in report.files)
    unnamed = sum(not each.is_parsed and not each.unread for each in report.files)
    yield (
        f"{counted(parsed, 'file')} parsed, {unnamed:,} without any name in question,"
        f" {unread_files(report):,} not read, {counted(unknown_names(report), 'name')}"
        " not understood."
    )


def found(report: Report) -> str:
    """A sentence on how many findings there are, in how many files."""
    if not report.files:
        return f"No Python file was found: no name ends in {', '.join(SUFFIXES)}."
    with_findings = sum(bool(each.findings) for each in report.files)
    files = counted(len(report.files), "file")
    return f"{counted(report.findings, 'finding')} in {with_findings:,} of {files}."


def unread_files(report: Report) -> int:
    """The number of files or folders that were not read, or not all of them."""
    return sum(bool(each.unread) for each in report.files) + len(report.unreadable)


def unknown_names(report: Report) -> int:
    """The number of names that were not understood."""
    return sum(len(each.unknown) for each in report.files)
