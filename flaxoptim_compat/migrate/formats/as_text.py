"""A report for people: a line for each finding, what a rewrite did, and a plan at the end."""

from __future__ import annotations

import collections
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.migrate.program.source_text import Place
from flaxoptim_compat.migrate.run.plan import Plan, Reason, plan_of
from flaxoptim_compat.migrate.run.reports import Noted, Report, Spot, UnitReport, line_of, place_of

# What is listed for people of the lines that hold optimizers, and of those that make them.
MOST_HELD = 10
_MOST_MADE = 3


class Held(NamedTuple):
    """What holds optimizers.

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
        """Which optimizers."""
        made = made_in(self.unit)
        number = counted(self.unit.optimizers, "optimizer")
        return f"{number}, made in {made}" if made else "an optimizer from elsewhere"


def how_many(becoming: int, staying: Sequence[UnitReport]) -> str:
    """How many optimizers go and stay; "" if there are none.

    Args:
      becoming: how many become TrainStates.
      staying: those that do not.
    """
    stay = sum(each.optimizers for each in staying)
    if not becoming + stay:
        return ""
    become = "becomes a TrainState" if becoming == 1 else "become TrainStates"
    number = counted(becoming + stay, "optimizer")
    return f"Of {number} {becoming:,} {become}, {stay:,} {'stays' if stay == 1 else 'stay'}."


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
        yield Held(each.held[0], each, text, _joining(each) if each.joined else "")


def others(staying: Sequence[UnitReport]) -> str:
    """How many lines more there are than are listed; "" if all are."""
    number = len(staying) - MOST_HELD
    return f"and {number:,} more, which scan --format json lists" if number > 0 else ""


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


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def summary(report: Report) -> Iterator[str]:
    """What the findings do not say, line by line: nothing is left out in silence."""
    unknown = [(each.path, *why) for each in report.files for why in each.unknown]
    for path, place, why in unknown:
        yield f"{place_of(path, place)}: not understood: {why}"
    marks = [(each.path, *mark) for each in report.files for mark in each.marks]
    for path, place, text in marks:
        yield f"{place_of(path, place)}: left by an earlier rewrite: {text}"
    for path, place_or_none, why in report.unread:
        where = place_of(path, place_or_none) if place_or_none else path
        yield f"{where}: not read: {why}"
    for path, why in report.left_out:
        yield f"{path}: left out: {why}"
    for path in report.unfinished:
        yield f"{path}: left behind by a rewrite that was killed; it can be deleted"
    with_findings = sum(bool(each.findings) for each in report.files)
    files = counted(len(report.files), "file")
    yield f"{counted(report.findings, 'finding')} in {with_findings} of {files}."
    parsed = sum(each.is_parsed for each in report.files)
    unread = sum(bool(each.unread) for each in report.files) + len(report.unreadable)
    unnamed = sum(not each.is_parsed and not each.unread for each in report.files)
    yield (
        f"{counted(parsed, 'file')} parsed, {unnamed:,} without any name in question,"
        f" {unread:,} not read, {counted(len(unknown), 'name')} not understood."
    )


_WIDTH = 80
_FILES = 3
_LONGEST = 28


def as_lines(plan: Plan) -> Iterator[str]:
    """The lines of a plan; none if nothing was found."""
    if not plan.findings:
        return
    yield ""
    yield f"A plan for {counted(plan.findings, 'finding')} in {counted(plan.files, 'file')}:"
    yield f"1. rewrite --to shim, for everything at once, deals with {plan.shim:,}."
    yield f"2. rewrite --to optax, folder by folder, deals with {plan.optax:,}."
    yield from _optimizers_of_plan(plan)
    if plan.begin_with:
        yield f"   Begin where nothing stays: {_files(plan)}"
    if plan.reasons:
        yield "3. The rest is yours. These reasons keep most of it from --to optax:"
        width = max(len(f"{each.number:,}") for each in plan.reasons)
        yield from (_line_of_reason(each, width) for each in plan.reasons)


def _optimizers_of_plan(plan: Plan) -> Iterator[str]:
    sentence = how_many(plan.becoming, plan.staying)
    if not sentence:
        return
    yield f"   {sentence}{' What holds them:' if plan.staying else ''}"
    width = max((len(f"{each.optimizers:,}") for each in plan.staying), default=0)
    for each in held(plan.staying[:MOST_HELD]):
        yield _row(f"{each.unit.optimizers:>{width},}", each.text, *each.spot)
        if each.joining:
            text = "Joined by this line, which may be any of them."
            yield _row(" " * width, text, *each.unit.joined[0])
    if more := others(plan.staying):
        yield f"   {more}"


def _files(plan: Plan) -> str:
    """As many files as there is room for, and how many others there are."""
    names = [_shortened(path, "") for path in plan.begin_with[:_FILES]]
    while True:
        others = len(plan.begin_with) - len(names)
        text = ", ".join(names) + (f", and {counted(others, 'other')}" if others else "")
        if len(names) == 1 or len(text) <= _WIDTH - len("   Begin where nothing stays: "):
            return text
        names.pop()


def _line_of_reason(reason: Reason, width: int) -> str:
    return _row(f"{reason.number:>{width},}", reason.text, reason.path, reason.place)


def _row(number: str, text: str, path: Path, place: Place) -> str:
    cell = f"cell {place.cell}:" if place.cell else ""
    where = _shortened(path, f":{cell}{place.line}")
    start = f"   {number}  "
    room = _WIDTH - len(f"{start} ({where})")
    text = " ".join(text.split())
    if len(text) > room:
        text = f"{text[: room - 3].rstrip()}..."
    return f"{start}{text} ({where})"


def _shortened(path: Path, line: str) -> str:
    """A place without the folders if they are too long; the findings above have them."""
    texts = [f"{path}{line}", f".../{path.name}{line}"]
    return next((each for each in texts if len(each) <= _LONGEST), f"...{texts[0][-_LONGEST:]}")


def account(report: Report, target: str, verb: str, failed: Container[Path] = ()) -> Iterator[str]:
    """The lines that say what became of each finding.

    Args:
      report: what was found.
      target: ``shim`` or ``optax``.
      verb: what happened to files that have a new content.
      failed: those of them that could not be written.
    """
    changed = [each for each in report.files if each.new is not None and each.path not in failed]
    left = 0
    for file in report.files:
        if file.off_limits and file.findings:
            left += len(file.findings)
            yield f"{file.path}: left alone, with {_findings(file.left)}: {file.off_limits}"
            continue
        for each in file.left:
            left += 1
            yield f"{place_of(file.path, each.place)}: {each.code} left: {_why_left(each)}"
    for file in changed:
        for each in file.done:
            if each.change:
                place = place_of(file.path, each.place)
                yield f"{place}: {each.code} changes numbers: {each.change}"
        yield f"{file.path}: {verb}: {_findings(file.done)}"
    yield from summary(report)
    if target == "optax":
        yield from _optimizers_of_report(report)
    done = sum(len(each.done) for each in changed)
    yield (
        f"rewrite --to {target}: {counted(len(changed), 'file')} {verb},"
        f" {counted(done, 'finding')} dealt with, {left:,} left."
    )


def _optimizers_of_report(report: Report) -> Iterator[str]:
    """How many become TrainStates, and the line that holds each of the others."""
    staying = report.staying
    for each in held(staying[:MOST_HELD]):
        yield f"{line_of(*each.spot)}: holds {each.whose}: {each.text}"
        if each.joining:
            yield f"{line_of(*each.unit.joined[0])}: {each.joining}"
    yield from filter(None, [others(staying), how_many(report.becoming, staying)])


def _why_left(finding: Noted) -> str:
    return finding.reason or f"{finding.what}: {finding.instead}"


def _findings(findings: list[Noted]) -> str:
    codes = sorted({each.code for each in findings})
    if not codes:
        return "marks where something is left"
    return f"{counted(len(findings), 'finding')} ({', '.join(codes)})"


LEGEND = "[*] rewrite can do it, [shim] or [optax] only with that --to, [-] only you can."


def mark(finding: Noted) -> str:
    """Which ``rewrite`` can do it."""
    marks = {(True, True): "[*]", (True, False): "[shim]", (False, True): "[optax]"}
    return marks.get((finding.shim, finding.optax), "[-]")


def as_text(report: Report) -> Iterator[str]:
    """The lines of a report."""
    for file in report.files:
        for each in file.findings:
            place = place_of(file.path, each.place)
            yield f"{place}: {each.code} {mark(each)} {each.what}: {each.instead}"
    if report.findings:
        yield LEGEND
    yield from summary(report)
    yield from as_lines(plan_of(report))


def as_statistics(report: Report, names: Mapping[str, str]) -> Iterator[str]:
    """How many findings there are of each rule, and in each file.

    Args:
      report: what was found.
      names: of the rules, by their codes.
    """
    found = [each for file in report.files for each in file.findings]
    by_rule = collections.Counter(each.code for each in found)
    width = max((len(f"{number:,}") for number in by_rule.values()), default=0)
    for code, number in sorted(by_rule.items(), key=lambda item: (-item[1], item[0])):
        those = [each for each in found if each.code == code]
        shim, optax = sum(each.shim for each in those), sum(each.optax for each in those)
        yield (
            f"{number:>{width},}  {code} {names.get(code, '')}"
            f" (--to shim: {shim:,}, --to optax: {optax:,})"
        )
    if found:
        yield ""
    files = [each for each in report.files if each.findings]
    for file in sorted(files, key=lambda each: (-len(each.findings), each.path)):
        codes = collections.Counter(each.code for each in file.findings)
        several = ", ".join(f"{number:,} {code}" for code, number in sorted(codes.items()))
        yield f"{file.path}: {counted(len(file.findings), 'finding')} ({several})"
    yield from summary(report)
