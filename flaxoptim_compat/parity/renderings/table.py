"""A report as text: what a terminal shows, and what a failing test prints."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from flaxoptim_compat.parity.findings import Findings, Parting
from flaxoptim_compat.parity.renderings.rows import METRICS, Row, rows
from flaxoptim_compat.parity.renderings.wording import (
    COLUMNS,
    UNKNOWN_CAUSE,
    details,
    element,
    errors,
    headline,
    leaf_name,
    loop_text,
    meanings,
    one_line,
    printable,
    quantity_name,
    rest_of,
    shortened,
    step_text,
    value_text,
    versions_text,
)

_WIDTH = 100
_ROWS = 20
_LONGEST_QUANTITY = 18
_LONGEST_NAME = 64
_GAP = "  "
_HEADINGS = ("leaf", "quantity", *COLUMNS.values(), "parts at")
_SPANNED = slice(2, 2 + len(METRICS))


def table(report: Findings) -> str:
    """The verdict, the causes, and the worst leaves below it, at most 100 columns wide.

    Only words that are longer than a line, such as a path in the verdict, make a line longer.
    """
    ranked = rows(report)
    sections = [_verdict(report), _causes(report)]
    if ranked:
        sections.append(_leaves(ranked))
    if not report.identical:
        sections.append(_legend(ranked, report))
    sections.append(_about(report))
    return "\n\n".join(section for section in sections if section)


def _verdict(report: Findings) -> str:
    sentences = _wrapped(f"{headline(report)} {details(report)}".rstrip())
    shown = report.first_parting or report.first_difference
    return "\n\n".join([sentences, _sides(report, shown)])


def _sides(report: Findings, shown: Parting | None) -> str:
    """The two sides, and the two values that differ."""
    names = [shortened(one_line(name), _LONGEST_NAME) for name in report.names]
    width = max(map(len, names))
    values = ["", ""] if shown is None else list(map(value_text, shown.values))
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
    lines = ["Likely cause:" if len(report.causes) == 1 else "Likely causes, all of them together:"]
    for cause in report.causes:
        lines.append(_wrapped(f"{cause.summary} [{cause.key}]", "  - ", "    "))
        lines.append(_wrapped(cause.remedy, "    Remedy: ", "    "))
    return "\n".join(lines)


def _leaves(ranked: Sequence[Row]) -> str:
    cells = [_cells(row) for row in ranked[:_ROWS]]
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *cells, strict=True)]
    # The path gets what the other columns leave of the line.
    widths[0] = min(widths[0], _WIDTH - sum(widths[1:]) - len(_GAP) * (len(widths) - 1))
    cells = [(shortened(leaf, widths[0]), *rest) for leaf, *rest in cells]
    lines = [_aligned(_HEADINGS, widths)]
    for row, values in zip(ranked, cells, strict=False):
        if row.not_finite is None:
            lines.append(_aligned(values, widths))
            continue
        span = len(_GAP) * (len(METRICS) - 1) + sum(widths[_SPANNED])
        text = f"{row.not_finite}, step {row.not_finite_step}"
        ends = (values[0].ljust(widths[0]), values[1].ljust(widths[1]), text.rjust(span))
        lines.append(_GAP.join((*ends, values[-1].rjust(widths[-1]))))
    if len(ranked) > _ROWS:
        lines.append(rest_of(ranked[_ROWS:]))
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        one_line(leaf_name(row.track.leaf)),
        shortened(one_line(quantity_name(row.track)), _LONGEST_QUANTITY),
        # Rows that are not finite have words in the place of these.
        *(errors(row) if row.not_finite is None else [""] * len(METRICS)),
        step_text(row.first_parting),
    )


def _aligned(values: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        value.ljust(width) if index < 2 else value.rjust(width)
        for index, (value, width) in enumerate(zip(values, widths, strict=True))
    ]
    return _GAP.join(cells).rstrip()


def _legend(ranked: Sequence[Row], report: Findings) -> str:
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
        lines.append(_wrapped(versions_text(report)))
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
