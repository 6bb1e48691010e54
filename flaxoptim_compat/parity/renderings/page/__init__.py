"""A report as one HTML page, which needs nothing beside itself.

A content security policy allows the one script and the one style that are in the page, by their
hashes, and no connection at all. Without JavaScript the page has everything, but its table cannot
be sorted.
"""

from __future__ import annotations

import base64
import hashlib
import html
import itertools
from collections.abc import Sequence
from importlib import resources
from string import Template

from flaxoptim_compat.parity.findings import Findings
from flaxoptim_compat.parity.renderings.picture import AXES, CURVES, POINTS, curves, picture
from flaxoptim_compat.parity.renderings.rows import METRICS, Row, rows
from flaxoptim_compat.parity.renderings.svg import inner, swatch
from flaxoptim_compat.parity.renderings.wording import (
    HEADINGS,
    UNKNOWN_CAUSE,
    cells,
    details,
    element,
    headline,
    loop_text,
    meanings,
    one_line,
    printable,
    rest_of,
    shortened,
    title_of_causes,
    value_text,
    versions_text,
)

_ROWS = 10_000
# Of a name beside the curves; the table has it whole.
_LONGEST = 56
# What a reader may choose to see the error in.
_CHOICES = {**METRICS, "error": "absolute"}


def to_html(report: Findings) -> str:
    """The page: verdict, values, causes, curves of the worst arrays, and a table of all."""
    ranked = rows(report)
    # In a block, so that its names are its alone.
    script, style = f'"use strict";\n{{\n{_file("script.js")}}}\n', _file("style.css")
    return Template(_file("template.html")).substitute(
        script_hash=_hash(script),
        style_hash=_hash(style),
        title=_escaped(headline(report)),
        style=style,
        verdict=_verdict(report),
        causes=_causes(report),
        figure=_figure(ranked, report),
        arrays=_arrays(ranked, report),
        about=_about(report),
        script=script,
    )


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _escaped(text: str) -> str:
    """Text of one line, as it stands in HTML."""
    return html.escape(one_line(text))


def _verdict(report: Findings) -> str:
    """The verdict, and both sides with the values that differ first."""
    kind = "same" if report.equal else "part"
    shown = report.first_parting or report.first_difference
    more = details(report)
    head, values = "", ["", ""]
    if shown is not None:
        where = _escaped(element(shown, report))
        head = f"<thead><tr><td></td><td></td><th>{where}</th></tr></thead>"
        marked = _marked(*map(value_text, shown.values))
        values = [f'<td class="value">{value}</td>' for value in marked]
    body = "".join(
        f'<tr><th scope="row">{side}</th><td><code>{_escaped(name)}</code></td>{value}</tr>'
        for side, name, value in zip(("first", "second"), report.names, values, strict=True)
    )
    return (
        f'<h1 class="{kind}">{_escaped(headline(report))}</h1>\n'
        f"{f'<p>{_escaped(more)}</p>' if more else ''}\n"
        f'<div class="scroll"><table class="sides">\n{head}<tbody>{body}</tbody>\n</table></div>'
    )


def _marked(first: str, second: str) -> tuple[str, str]:
    """Both values with the digits marked from the first one that differs."""
    pairs = zip(first, second, strict=False)
    common = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))

    def mark(text: str) -> str:
        rest = html.escape(text[common:])
        return html.escape(text[:common]) + (f"<mark>{rest}</mark>" if rest else "")

    return mark(first), mark(second)


def _causes(report: Findings) -> str:
    """What explains the parting."""
    if report.equal:
        return ""
    if not report.causes:
        return f"<section><h2>Cause</h2><p>{UNKNOWN_CAUSE}</p></section>"
    entries = "".join(
        f"<li><p>{_text(cause.summary)} <small><code>{_escaped(cause.key)}</code></small></p>"
        f'<p class="remedy"><span>Remedy</span> {_text(cause.remedy)}</p></li>'
        for cause in report.causes
    )
    return f'<section><h2>{title_of_causes(report)}</h2><ul class="causes">{entries}</ul></section>'


def _text(text: str) -> str:
    return html.escape(printable(text))


def _figure(ranked: Sequence[Row], report: Findings) -> str:
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
        f"<span>{swatch(kind)}{_escaped(shortened(name, _LONGEST))}</span> "
        for kind, name in drawn.legend.items()
    )
    return '<section id="figure"><h2>Error at each step</h2>\n<span>Measured</span>\n' + "\n".join(
        [*choices, f'<p id="key">{key}</p>', *plots, "</section>"]
    )


def _arrays(ranked: Sequence[Row], report: Findings) -> str:
    """The table of all arrays; the script makes it sortable, and shows which curve is whose."""
    if not ranked:
        return ""
    headings = "".join(f'<th scope="col">{name}</th>' for name in HEADINGS)
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
    leaf, quantity, *errors, step = map(html.escape, cells(row))
    start = "<td>" if row.not_finite is None else f'<td colspan="{len(METRICS)}">'
    kind = ' class="part"' if row.parts else ""
    return (
        f'<tr{kind}><th scope="row">{leaf}</th><td>{quantity}</td>'
        f"{''.join(f'{start}{error}</td>' for error in errors)}<td>{step}</td></tr>"
    )


def _legend(shown: Sequence[Row], report: Findings) -> str:
    if report.identical:
        return ""
    entries = "".join(
        f"<dt>{name}</dt><dd>{text}</dd>" for name, text in meanings(shown, report).items()
    )
    return f"<dl>{entries}</dl>"


def _about(report: Findings) -> str:
    """What the reader ought to know of the runs and of the page."""
    lines = [f"<p>{_text(note)}</p>" for note in report.notes]
    lines.append(f"<p>{_escaped(loop_text(report))}</p>")
    if len(report.tracks) > CURVES:
        lines.append(f"<p>Only the {CURVES} worst arrays have curves.</p>")
    if report.steps + 1 > POINTS:
        lines.append(
            f"<p>A curve has {POINTS} points for {report.steps + 1:,} steps: each is the largest"
            " error of some steps, beside the smallest that is allowed in them.</p>"
        )
    if report.versions:
        lines.append(f"<p>{_escaped(versions_text(report.versions))}</p>")
    return "\n".join(lines)
