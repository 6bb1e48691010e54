"""The end of every report: what was seen, what was read, and what was not."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.reports import Report, place_of


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
