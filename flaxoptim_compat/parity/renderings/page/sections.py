"""The parts of the page, none of which needs a script."""

from __future__ import annotations

import html
import itertools
from collections.abc import Sequence

from flaxoptim_compat.parity.findings import Findings, Parting
from flaxoptim_compat.parity.renderings.picture import AXES, CURVES, POINTS, curves, picture
from flaxoptim_compat.parity.renderings.rows import METRICS, Row
from flaxoptim_compat.parity.renderings.svg import inner, swatch
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

_ROWS = 10_000
# Of a name beside the curves; the table has it whole.
_LONGEST = 56
# What a reader may choose to see the error in.
_CHOICES = {
    "error": "absolute",
    "relative": "relative",
    "ulps": "ulp",
    "to_distance": "of distance",
}


def escaped(text: str) -> str:
    """Text of one line, as it stands in HTML."""
    return html.escape(one_line(text))


def verdict(report: Findings) -> str:
    """The verdict, and both sides with the values that differ first."""
    kind = "same" if report.equal else "part"
    shown = report.first_parting or report.first_difference
    more = details(report)
    return "\n".join(
        [
            f'<h1 class="{kind}">{escaped(headline(report))}</h1>',
            f"<p>{escaped(more)}</p>" if more else "",
            '<div class="scroll"><table class="sides">',
            _sides(report, shown),
            "</table></div>",
        ]
    )


def _sides(report: Findings, shown: Parting | None) -> str:
    names = [escaped(name) for name in report.names]
    if shown is None:
        values = ["", ""]
    else:
        marked = _marked(*map(value_text, shown.values))
        values = [f'<td class="value">{value}</td>' for value in marked]
    where = "" if shown is None else f"<th>{escaped(element(shown, report))}</th>"
    head = f"<thead><tr><td></td><td></td>{where}</tr></thead>" if where else ""
    body = "".join(
        f'<tr><th scope="row">{side}</th><td><code>{name}</code></td>{value}</tr>'
        for side, name, value in zip(("first", "second"), names, values, strict=True)
    )
    return f"{head}<tbody>{body}</tbody>"


def _marked(first: str, second: str) -> tuple[str, str]:
    """Both values with the digits marked from the first one that differs."""
    pairs = zip(first, second, strict=False)
    common = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))

    def mark(text: str) -> str:
        rest = html.escape(text[common:])
        return html.escape(text[:common]) + (f"<mark>{rest}</mark>" if rest else "")

    return mark(first), mark(second)


def causes(report: Findings) -> str:
    """What explains the parting."""
    if report.equal:
        return ""
    if not report.causes:
        return f"<section><h2>Cause</h2><p>{UNKNOWN_CAUSE}</p></section>"
    title = "Likely cause" if len(report.causes) == 1 else "Likely causes, all of them together"
    entries = "".join(
        f"<li><p>{_text(cause.summary)} <small><code>{escaped(cause.key)}</code></small></p>"
        f'<p class="remedy"><span>Remedy</span> {_text(cause.remedy)}</p></li>'
        for cause in report.causes
    )
    return f'<section><h2>{title}</h2><ul class="causes">{entries}</ul></section>'


def _text(text: str) -> str:
    return html.escape(printable(text))


def figure(ranked: Sequence[Row], report: Findings) -> str:
    """The curves in each metric; the style shows those of the one that is chosen."""
    found = {metric: curves(ranked, report, metric) for metric in METRICS}
    if not any(found.values()):
        return ""
    choices, plots = [], []
    for metric, label in _CHOICES.items():
        drawn = picture(found[metric], report, metric)
        checked = " checked" if metric == "to_distance" else ""
        choices.append(
            f'<input type="radio" name="metric" id="by-{metric}"{checked}>'
            f'<label for="by-{metric}">{label}</label>'
        )
        plots.append(
            f'<svg class="plot {metric}" role="img" aria-label="{AXES[metric]} at each step">'
            f"{inner(drawn)}</svg>"
        )
    key = "".join(
        f"<span>{swatch(kind)}{escaped(shortened(name, _LONGEST))}</span> "
        for kind, name in drawn.legend.items()
    )
    return '<section id="figure"><h2>Error at each step</h2>\n<span>Measured</span>\n' + "\n".join(
        [*choices, f'<p id="key">{key}</p>', *plots, "</section>"]
    )


def arrays(ranked: Sequence[Row], report: Findings) -> str:
    """The table of all arrays; the script makes it sortable, and shows which curve is whose."""
    if not ranked:
        return ""
    headings = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("leaf", "quantity", *COLUMNS.values(), "parts at")
    )
    body = "\n".join(map(_row, ranked[:_ROWS]))
    rest = f"<p>{rest_of(ranked[_ROWS:])}.</p>" if len(ranked) > _ROWS else ""
    return (
        f"<section><h2>{_count(ranked)}</h2>\n"
        '<div class="scroll tall" tabindex="0" role="region" aria-label="Table of arrays">\n'
        f'<table id="arrays"><thead><tr>{headings}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>{rest}\n"
        f"{_legend(ranked[:_ROWS], report)}</section>"
    )


def _count(ranked: Sequence[Row]) -> str:
    parting = sum(row.parts for row in ranked)
    arrays = "1 array" if len(ranked) == 1 else f"{len(ranked):,} arrays"
    if parting > 1:
        return f"{arrays}, {parting:,} of which part"
    return f"{arrays}, {'one' if parting else 'none'} of which parts"


def _row(row: Row) -> str:
    if row.not_finite is None:
        cells = "".join(f"<td>{error}</td>" for error in errors(row))
    else:
        cells = f'<td colspan="{len(METRICS)}">{row.not_finite}, step {row.not_finite_step}</td>'
    kind = ' class="part"' if row.parts else ""
    return (
        f'<tr{kind}><th scope="row">{escaped(leaf_name(row.track.leaf))}</th>'
        f"<td>{escaped(quantity_name(row.track))}</td>{cells}"
        f"<td>{step_text(row.first_parting)}</td></tr>"
    )


def _legend(shown: Sequence[Row], report: Findings) -> str:
    if report.identical:
        return ""
    entries = "".join(
        f"<dt>{name}</dt><dd>{text}</dd>" for name, text in meanings(shown, report).items()
    )
    return f"<dl>{entries}</dl>"


def about(report: Findings) -> str:
    """What the reader ought to know of the runs and of the page."""
    lines = [f"<p>{_text(note)}</p>" for note in report.notes]
    lines.append(f"<p>{escaped(loop_text(report))}</p>")
    if len(report.tracks) > CURVES:
        lines.append(f"<p>Only the {CURVES} worst arrays have curves.</p>")
    if report.steps + 1 > POINTS:
        lines.append(
            f"<p>A curve has {POINTS} points for {report.steps + 1:,} steps: each is the largest"
            " error of some steps, beside the smallest that is allowed in them.</p>"
        )
    if report.versions:
        lines.append(f"<p>{escaped(versions_text(report))}</p>")
    return "\n".join(lines)
