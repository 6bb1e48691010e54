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
import re
from collections.abc import Sequence
from importlib import resources
from string import Template

from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.findings import Findings
from flaxoptim_compat.parity.renderings.picture import (
    AXES,
    CURVES,
    POINTS,
    Curve,
    curves,
    figure,
    require_matplotlib,
    written,
)
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
from flaxoptim_compat.printable import one_line, printable

_ROWS = 10_000
# The measures of the error among which a reader can choose.
_CHOICES = {**METRICS, "error": "absolute"}
_DIGITS = re.compile(r"(\.\d\d)\d+| ?\n")
_GROUP = re.compile(r'<g id="(?:curve-(\w+)-(\d*)|sample-(\w+)|([\w.]+))">')


def to_html(report: Findings) -> str:
    """The page: verdict, values, causes, curves of the worst arrays, and a table of all."""
    ranked = rows(report)
    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    hashes = {
        f"{tag}_hash": _hash(template.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0])
        for tag in ("script", "style")
    }
    return Template(template).substitute(
        hashes,
        title=_escaped(headline(report)),
        verdict=_verdict(report),
        causes=_causes(report),
        figure=_figure(ranked, report),
        arrays=_arrays(ranked, report),
        about="\n".join(f"<p>{_text(line)}</p>" for line in _about(report)),
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _escaped(text: str) -> str:
    """Text of one line, as it stands in HTML."""
    return html.escape(one_line(text))


def _text(text: str) -> str:
    return html.escape(printable(text))


def _verdict(report: Findings) -> str:
    """The verdict, and both sides with the values that differ first."""
    kind = "same" if report.equal else "part"
    shown = report.first_parting or report.first_difference
    more = details(report)
    head, values = "", ["", ""]
    if shown is not None:
        where = _escaped(element(shown, report))
        head = f"<thead><tr><td></td><td></td><th>{where}</th></tr></thead>"
        marked = _marked(*map(value_text, shown.values or ("", "")))
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
    """The causes that explain the parting."""
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


def _figure(ranked: Sequence[ArrayRow], report: Findings) -> str:
    """The curves in each metric; the style of the page shows those of the chosen metric."""
    drawn = {metric: curves(ranked, report, metric) for metric in METRICS}
    if not any(drawn.values()):
        return ""
    title = '<section id="figure"><h2>Error at each step</h2>\n'
    try:
        require_matplotlib()
    except ParityError as error:
        return f"{title}<p>{_text(str(error))}</p>\n</section>"
    choices = [
        f'<input type="radio" name="metric" id="by-{metric}"'
        f"{' checked' if metric == 'to_distance' else ''}>"
        f'<label for="by-{metric}">{label}</label>'
        for metric, label in _CHOICES.items()
    ]
    plots = [_plot(drawn[metric], report, metric) for metric in _CHOICES]
    return "\n".join([f"{title}<span>Measured</span>", *choices, *plots, "</section>"])


def _plot(drawn: Sequence[Curve], report: Findings, metric: str) -> str:
    """A figure as an element of the page, whose style gives it other colours in the dark."""
    svg = written("svg", lambda: figure(drawn, report, metric), "none").decode()
    box = svg.partition('viewBox="')[2].partition('"')[0]
    drawing = svg[svg.index('<g id="figure_1">') : svg.rindex("</svg>")]
    names = {str(curve.row): curve.name for curve in drawn}

    def group(match: re.Match[str]) -> str:
        kind, row, sample, other = match.groups()
        if row:
            return f'<g class="{kind}" data-row="{row}"><title>{_escaped(names[row])}</title>'
        return f'<g class="{f"sample {sample}" if sample else kind or other}">'

    def attributes(style: re.Match[str]) -> str:
        pairs = (each.strip().partition(": ") for each in style[1].split(";"))
        return "".join(f' {name}="{value}"' for name, _, value in pairs if name not in ("", "font"))

    drawing = _GROUP.sub(group, drawing)
    # The policy of the page forbids styles in elements; attributes can say the same.
    drawing = re.sub(r' style="([^"]*)"', attributes, drawing)
    # The dots of each of the four plots need ids of their own.
    drawing = re.sub(r'(id="|href="#)(m\w+")', rf"\1{metric}-\2", drawing)
    # Hundredths of a pixel are enough, and keep pages small.
    drawing = re.sub(r' d="[^"]*"', lambda path: _DIGITS.sub(r"\1", path[0]), drawing)
    return (
        f'<div class="plot scroll {metric}"><svg viewBox="{box}" role="img"'
        f' aria-label="{AXES[metric]} at each step">\n{drawing}</svg></div>'
    )


def _arrays(ranked: Sequence[ArrayRow], report: Findings) -> str:
    """The table of all arrays; the script sorts it, and marks the curve of a row."""
    if not ranked:
        return ""
    headings = "".join(f'<th scope="col">{name}</th>' for name in HEADINGS)
    body = "\n".join(map(_row, ranked[:_ROWS]))
    rest = f"<p>{rest_of(ranked[_ROWS:])}.</p>" if len(ranked) > _ROWS else ""
    legend = "".join(
        f"<dt>{name}</dt><dd>{text}</dd>" for name, text in meanings(ranked[:_ROWS], report).items()
    )
    return (
        f"<section><h2>{_count(ranked)}</h2>\n"
        '<div class="scroll tall" tabindex="0" role="region" aria-label="Table of arrays">\n'
        f'<table id="arrays"><thead><tr>{headings}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>{rest}\n"
        f"{'' if report.identical else f'<dl>{legend}</dl>'}</section>"
    )


def _count(ranked: Sequence[ArrayRow]) -> str:
    parting = sum(row.parts for row in ranked)
    arrays = "1 array" if len(ranked) == 1 else f"{len(ranked):,} arrays"
    if parting > 1:
        return f"{arrays}, {parting:,} of which part"
    return f"{arrays}, {'one' if parting else 'none'} of which parts"


def _row(row: ArrayRow) -> str:
    leaf, quantity, *errors, step = map(html.escape, cells(row))
    start = "<td>" if row.not_finite is None else f'<td colspan="{len(METRICS)}">'
    kind = ' class="part"' if row.parts else ""
    return (
        f'<tr{kind}><th scope="row">{leaf}</th><td>{quantity}</td>'
        f"{''.join(f'{start}{error}</td>' for error in errors)}<td>{step}</td></tr>"
    )


def _about(report: Findings) -> list[str]:
    """The lines at the end, about the runs and about the page."""
    lines = [*report.notes, loop_text(report)]
    if len(report.tracks) > CURVES:
        lines.append(f"Only the {CURVES} worst arrays have curves.")
    if report.compared + 1 > POINTS:
        lines.append(
            f"A curve has {POINTS} points for {report.compared + 1:,} steps: each is the largest"
            " error of some steps, beside the smallest that is allowed in them."
        )
    return [*lines, versions_text(report.versions)] if report.versions else lines
