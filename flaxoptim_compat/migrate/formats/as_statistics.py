"""How many findings there are: of each kind, and in each file."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping

from flaxoptim_compat.columns import in_columns
from flaxoptim_compat.migrate.formats.sentences import counted, summary
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.run.reports import FileReport, Report

_HEADINGS = ("found", "code", "name", "--to shim", "--to optax")


def as_statistics(report: Report, rules: Mapping[str, Rule]) -> Iterator[str]:
    """The lines of a report that only counts.

    Args:
      report: what was found.
      rules: by their codes.
    """
    if report.findings:
        yield from kinds(report, rules)
        yield ""
    for file in most_first(report):
        codes = collections.Counter(each.code for each in file.findings)
        several = ", ".join(f"{number:,} {code}" for code, number in sorted(codes.items()))
        yield f"{file.path}: {counted(len(file.findings), 'finding')} ({several})"
    yield from summary(report)


def kinds(report: Report, rules: Mapping[str, Rule]) -> list[str]:
    """A table: how many there are of each kind, the most frequent first, and what deals with them.

    Args:
      report: what was found.
      rules: by their codes.
    """
    found: collections.Counter[str] = collections.Counter()
    shim: collections.Counter[str] = collections.Counter()
    optax: collections.Counter[str] = collections.Counter()
    for file in report.files:
        for each in file.findings:
            found[each.code] += 1
            shim[each.code] += each.shim
            optax[each.code] += each.optax
    rows = [
        (f"{number:,}", code, rules[code].name, f"{shim[code]:,}", f"{optax[code]:,}")
        for code, number in sorted(found.items(), key=lambda item: (-item[1], item[0]))
    ]
    return in_columns([_HEADINGS, *rows], right={0, 3, 4})


def most_first(report: Report) -> list[FileReport]:
    """The files in which something was found, those with most findings first."""
    files = [each for each in report.files if each.findings]
    return sorted(files, key=lambda each: (-len(each.findings), each.path))
