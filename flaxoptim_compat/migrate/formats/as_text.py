"""A report for people: one line for each finding."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping

from flaxoptim_compat.migrate.formats.plan import as_lines
from flaxoptim_compat.migrate.formats.summary import counted, summary
from flaxoptim_compat.migrate.plan import plan_of
from flaxoptim_compat.migrate.reports import Noted, Report, place_of

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
