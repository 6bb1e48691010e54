"""An account of ``rewrite``: what became of each finding, or would become of it."""

from __future__ import annotations

import collections
import textwrap
from collections.abc import Container, Iterator
from pathlib import Path

from flaxoptim_compat.legacy.names.gone_for_good import GONE
from flaxoptim_compat.migrate.editing.finding import OF_OPTIMIZERS
from flaxoptim_compat.migrate.formats.old_comments import old_comments
from flaxoptim_compat.migrate.formats.sentences import (
    asides,
    counted,
    counts,
    first_of,
    optimizers,
    run_lines,
)
from flaxoptim_compat.migrate.run.reports import ReportedFinding, RunReport, place_of
from flaxoptim_compat.printable import one_line

# An account is short on a whole repository too, but lists all files and numbers that change.
_LEFT = 12
_WIDTH = 100
_ASIDES = 5
_FILES = 8
_CODES = 7
# Names in strings; calls of install(); and code that needs TensorFlow.
_WORKS_WITHOUT_RUN = frozenset({"FOC104", "FOC111", "FOC160"})
# Definitions that stay in this package where their optimizers move.
_MAY_STAY = frozenset({"FOC201", "FOC208"})


def account(
    report: RunReport,
    target: str,
    verb: str,
    failed: Container[Path] = (),
    is_patch: bool = False,
) -> Iterator[str]:
    """The lines that say what became of each finding.

    Args:
      report: the report of the run.
      target: ``shim`` or ``optax``.
      verb: what happened to the files that change, such as ``changed``.
      failed: the files that could not be written.
      is_patch: whether a patch is printed, which names all files that change.
    """
    changed = [each for each in report.files if each.new is not None and each.path not in failed]
    for line in first_of(list(_left(report)), _LEFT, "scan --format concise"):
        yield from textwrap.wrap(
            line, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
        )
    for file in changed:
        for each in file.done:
            if each.change:
                place = place_of(file.path, each.place)
                yield f"{place}: {each.code} changes numbers: {each.change}"
    files = [f"{one_line(each.path)}: {verb}: {_findings(each.done)}" for each in changed]
    yield from first_of(files, _FILES, "the patch") if is_patch else files
    yield from old_comments(report, target)
    for lines in asides(report):
        yield from first_of(lines, _ASIDES, "scan --format concise")
    yield from counts(report)
    if target == "optax":
        yield from run_lines(report)
        yield from optimizers(report)
    done = sum(len(each.done) for each in changed)
    left = len(report.left)
    fine = report.findings - sum(len(each.done) for each in report.files) - left
    works = f" {fine:,} {'works' if fine == 1 else 'work'} as written," if fine else ""
    yield (
        f"rewrite --to {target}: {counted(len(changed), 'file')} {verb},"
        f" {counted(done, 'finding')} dealt with,{works} {left:,} left."
    )


def _left(report: RunReport) -> Iterator[str]:
    """Lines on files and places that are left, each with the number of others for its reason."""
    places = [each for file in report.files if not file.off_limits for each in file.left]
    reasons = {each.reason for each in places if each.reason}
    others = collections.Counter(each.cause for each in places if each.cause in reasons)
    for file in report.files:
        if file.off_limits and file.findings:
            count = _findings(file.findings)
            yield f"{one_line(file.path)}: left alone, with {count}: {file.off_limits}"
            continue
        for each in file.left:
            if each.cause not in reasons:
                # A reason counts its places once, where it is met first.
                number = others.pop(each.reason, 0)
                yield f"{place_of(file.path, each.place)}: {each.code} left: {_why(each, number)}"


def _why(finding: ReportedFinding, others: int) -> str:
    text = finding.reason or f"{finding.what}: {finding.instead}"
    if not others:
        return text
    stay = "stays" if others == 1 else "stay"
    return f"{text} {counted(others, 'other place')} {stay} for this reason."


def _findings(findings: list[ReportedFinding]) -> str:
    codes = sorted({each.code for each in findings})
    if not codes:
        return "comments above places that are left"
    kinds = ", ".join(codes) if len(codes) <= _CODES else f"of {len(codes)} kinds"
    return f"{counted(len(findings), 'finding')} ({kinds})"


def is_done(report: RunReport) -> bool:
    """True if no place is left for people.

    Args:
      report: the report of a rewrite.
    """
    return not report.untouched and not has_left_work(report)


def has_left_work(report: RunReport) -> bool:
    """True if places were left that people have to change; some may stay for good.

    Args:
      report: the report of a rewrite.
    """
    may_stay = frozenset() if report.staying else _MAY_STAY
    return any(each.code not in may_stay for each in report.left)


def needs_run(report: RunReport) -> bool:
    """True if a place that was left fails on today's versions, and works under ``run``.

    Args:
      report: the report of a rewrite.
    """
    return bool(report.untouched) or any(
        not each.code.startswith(OF_OPTIMIZERS)
        and each.code not in _WORKS_WITHOUT_RUN
        and each.what.partition(",")[0] not in GONE
        for each in report.left
    )
