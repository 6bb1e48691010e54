"""What to do first about all that was found, and what stands in the way of the rest."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.migrate.program.source_text import Place
from flaxoptim_compat.migrate.run.reports import FileReport, Noted, Report, Spot

_REASONS = 5


class Reason(NamedTuple):
    """Why ``rewrite --to optax`` leaves places.

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
