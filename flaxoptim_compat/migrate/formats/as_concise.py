"""A report with a line for each finding, for editors, hooks and ``grep``."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.formats.sentences import LEGEND, asides, counts, mark, optimizers
from flaxoptim_compat.migrate.run.reports import Report, place_of


def as_concise(report: Report) -> Iterator[str]:
    """The lines of a report: each begins with its place, but for the last ones, which count."""
    for file in report.files:
        for each in file.findings:
            place = place_of(file.path, each.place)
            yield f"{place}: {each.code} {mark(each)} {each.what}: {each.instead}"
    for lines in asides(report):
        yield from lines
    yield from optimizers(report, most=None)
    if report.findings:
        yield LEGEND
    yield from counts(report)
