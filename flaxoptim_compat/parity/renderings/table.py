"""A report as text, for a terminal and for the message of a failing test."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from flaxoptim_compat.parity.findings import Findings
from flaxoptim_compat.parity.renderings.rows import METRICS, ArrayRow, rows
from flaxoptim_compat.parity.renderings.wording import (
    HEADINGS,
    UNKNOWN_CAUSE,
    cells,
    details,
    element,
    headline,
    loop_text,
    meanings,
    rest_of,
    title_of_causes,
    value_text,
    versions_text,
)
from flaxoptim_compat.printable import one_line, printable, shortened

_WIDTH = 100
_ROWS = 20
_LONGEST_QUANTITY = 18
_LONGEST_NAME = 64
_GAP = "  "
_SPANNED = slice(2, 2 + len(METRICS))


def table(report: Findings) -> str:
    """The verdict, the causes, and the worst leaves below it, at most 100 columns wide.

    Only words that are longer than a line, such as a path in the verdict, make a line longer.
    """
    ranked = rows(report)
    sections = [
        _wrapped(f"{headline(report)} {details(report)}".rstrip()),
        _sides(report),
        _causes(report),
        _leaves(ranked) if ranked else "",
        "" if report.identical else _legend(ranked, report),
        _about(report),
    ]
    return "\n\n".join(section for section in sections if section)


def _sides(report: Findings) -> str:
    """The two sides, and the two values that differ."""
    shown = report.first_parting or report.first_difference
    names = [shortened(one_line(name), _LONGEST_NAME) for name in report.names]
    width = max(map(len, names))
    values = list(map(value_text, shown.values)) if shown is not None else []
    values = values or ["", ""]
    lines = [
        f"  {side:6}  {name:{width}}  {value}".rstrip()
        for side, name, value in zip(("first", "second"), names, values, strict=True)
    ]
    if shown is not None:
        lines.insert(0, f"  {shortened(one_line(element(shown, report)), _WIDTH - 3)}:")
    return "\n".join(lines)


def _causes(report: Findings) -> str:
    if report.equal:
        return ""
    if not report.causes:
        return UNKNOWN_CAUSE
    lines = [f"{title_of_causes(report)}:"]
    for cause in report.causes:
        lines.append(_wrapped(f"{cause.summary} [{cause.key}]", "  - ", "    "))
        lines.append(_wrapped(cause.remedy, "    Remedy: ", "    "))
    return "\n".join(lines)


def _leaves(ranked: Sequence[ArrayRow]) -> str:
    shown = [list(HEADINGS), *map(cells, ranked[:_ROWS])]
    for row in shown:
        row[1] = shortened(row[1], _LONGEST_QUANTITY)
    # Where an array is not finite, words take the room of all errors.
    whole = [row for row in shown if len(row) == len(HEADINGS)]
    widths = [max(map(len, column)) for column in zip(*whole, strict=True)]
    for place in (0, 1, -1):
        widths[place] = max(len(row[place]) for row in shown)
    # The path gets what the other columns leave of the line.
    widths[0] = min(widths[0], _WIDTH - sum(widths[1:]) - len(_GAP) * (len(widths) - 1))
    span = len(_GAP) * (len(METRICS) - 1) + sum(widths[_SPANNED])
    lines = []
    for leaf, quantity, *errors, step in shown:
        sizes = widths[_SPANNED] if len(errors) > 1 else [span]
        numbers = [text.rjust(size) for text, size in zip(errors, sizes, strict=True)]
        path = shortened(leaf, widths[0]).ljust(widths[0])
        texts = (path, quantity.ljust(widths[1]), *numbers, step.rjust(widths[-1]))
        lines.append(_GAP.join(texts))
    if len(ranked) > _ROWS:
        lines.append(rest_of(ranked[_ROWS:]))
    return "\n".join(lines)


def _legend(ranked: Sequence[ArrayRow], report: Findings) -> str:
    entries = meanings(ranked[:_ROWS], report)
    width = max(map(len, entries))
    return "\n".join(
        _wrapped(meaning, f"{name:{width}}  ", " " * (width + 2))
        for name, meaning in entries.items()
    )


def _about(report: Findings) -> str:
    lines = [_wrapped(f"Note: {note}", "", "  ") for note in report.notes]
    lines.append(loop_text(report))
    if report.versions:
        lines.append(_wrapped(versions_text(report.versions)))
    return "\n".join(lines)


def _wrapped(text: str, first: str = "", other: str = "") -> str:
    lines: list[str] = []
    for line in printable(text).split("\n"):
        lines.append(
            textwrap.fill(
                line,
                _WIDTH,
                initial_indent=other if lines else first,
                subsequent_indent=other,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    return "\n".join(lines)
