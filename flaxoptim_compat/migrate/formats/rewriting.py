"""What a rewrite did, file by file, and what it left and why."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path

from flaxoptim_compat.migrate.formats.optimizers import held, how_many, made_in, others
from flaxoptim_compat.migrate.formats.summary import counted, summary
from flaxoptim_compat.migrate.reports import Noted, Report, line_of, place_of


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
        if file.kept and file.findings:
            left += len(file.findings)
            yield f"{file.path}: left alone, with {_findings(file.left)}: {file.kept}"
            continue
        for each in file.left:
            left += 1
            yield f"{place_of(file.path, each.place)}: {each.code} left: {_reason(each)}"
    for file in changed:
        for each in file.done:
            if each.change:
                place = place_of(file.path, each.place)
                yield f"{place}: {each.code} changes numbers: {each.change}"
        yield f"{file.path}: {verb}: {_findings(file.done)}"
    yield from summary(report)
    if target == "optax":
        yield from _optimizers(report)
    done = sum(len(each.done) for each in changed)
    yield (
        f"rewrite --to {target}: {counted(len(changed), 'file')} {verb},"
        f" {counted(done, 'finding')} dealt with, {left:,} left."
    )


def _optimizers(report: Report) -> Iterator[str]:
    """How many become TrainStates, and the line that holds each of the others."""
    staying = report.staying
    for each in held(staying):
        made = made_in(each.unit)
        number = counted(each.unit.optimizers, "optimizer")
        whose = f"{number}, made in {made}" if made else "an optimizer from elsewhere"
        yield f"{line_of(*each.spot)}: holds {whose}: {each.text}"
        if each.joining:
            yield f"{line_of(*each.unit.joined[0])}: {each.joining}"
    yield from filter(None, [others(staying), how_many(report.becoming, staying)])


def _reason(finding: Noted) -> str:
    return finding.reason or f"{finding.what}: {finding.instead}"


def _findings(findings: list[Noted]) -> str:
    codes = sorted({each.code for each in findings})
    if not codes:
        return "marks where something is left"
    return f"{counted(len(findings), 'finding')} ({', '.join(codes)})"
