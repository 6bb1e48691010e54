"""What ``rewrite`` did, or would do, with each finding."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path

from flaxoptim_compat.migrate.formats.sentences import counted, optimizers, summary
from flaxoptim_compat.migrate.run.reports import Noted, Report, place_of


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
        yield from optimizers(report)
    done = sum(len(each.done) for each in changed)
    yield (
        f"rewrite --to {target}: {counted(len(changed), 'file')} {verb},"
        f" {counted(done, 'finding')} dealt with, {left:,} left."
    )


def _why_left(finding: Noted) -> str:
    return finding.reason or f"{finding.what}: {finding.instead}"


def _findings(findings: list[Noted]) -> str:
    codes = sorted({each.code for each in findings})
    if not codes:
        return "marks where something is left"
    return f"{counted(len(findings), 'finding')} ({', '.join(codes)})"
