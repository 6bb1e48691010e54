"""A picture as SVG: as a part of a page, which makes it as wide as there is room, and alone."""

from __future__ import annotations

import html
from collections.abc import Sequence

from flaxoptim_compat.parity.findings import Findings
from flaxoptim_compat.parity.renderings.picture import (
    HEIGHT,
    STYLES,
    WIDTH,
    Line,
    Picture,
    Text,
    poster,
)

_FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif"


def inner(picture: Picture) -> str:
    """What is in an ``svg`` element that is as large as the axes, and shows what is around them."""
    return (
        f'<svg viewBox="0 0 1000 {HEIGHT}" width="100%" height="{HEIGHT}" overflow="visible"'
        ' preserveAspectRatio="none" fill="none" stroke-linecap="round" stroke-linejoin="round">'
        f"{''.join(map(_line, picture.lines))}</svg>\n{''.join(map(_text, picture.texts))}"
    )


def swatch(kind: str) -> str:
    """A short line of a kind, for a legend."""
    line = f'<path d="M2 5H24" {_stroke(kind)}/>'
    return f'<svg width="26" height="10" aria-hidden="true">{line}</svg>'


def to_svg(report: Findings) -> str:
    """The picture as a file of its own."""
    whole, (left, top, width, height) = poster(report)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="{left} {top} {width} {height}" font-family="{_FONT}" font-size="12">\n'
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="white"/>\n'
        f'<svg width="{WIDTH}" height="{HEIGHT}" overflow="visible">{inner(whole)}</svg>\n</svg>\n'
    )


def _line(line: Line) -> str:
    curve = line.curve
    row = "" if curve is None or curve.row is None else f' data-row="{curve.row}"'
    title = "" if curve is None else f"<title>{html.escape(curve.name)}</title>"
    whole = "".join(_run(*run) for run in line.runs if len(run[0]) > 1)
    # With no length it is round, as the ends of lines are.
    dots = "".join(f"{_run(*run)}h0" for run in line.runs if len(run[0]) == 1)
    fixed = 'vector-effect="non-scaling-stroke"'
    # A dot has no dashes.
    large = f'stroke-width="{STYLES[line.kind].width + 2.5}" stroke-dasharray="none"'
    return (
        f"<g {_stroke(line.kind)}{row}>{title}"
        + (f'<path d="{whole}" {fixed}/>' if whole else "")
        + (f'<path class="dots" d="{dots}" {large} {fixed}/>' if dots else "")
        + "</g>\n"
    )


def _run(across: Sequence[float], down: Sequence[float]) -> str:
    points = (f"{1000 * x:.1f} {y:.1f}" for x, y in zip(across, down, strict=True))
    return f"M{' '.join(points)}".replace(".0 ", " ")


def _stroke(kind: str) -> str:
    style = STYLES[kind]
    dashes = f' stroke-dasharray="{" ".join(map(str, style.dashes))}"' if style.dashes else ""
    return f'class="{kind}" stroke="{style.colour}" stroke-width="{style.width}"{dashes}'


def _text(text: Text) -> str:
    return (
        f'<text class="{text.kind}" fill="{STYLES[text.kind].colour}" x="{100 * text.across:.4g}%"'
        f' dx="{text.pixels:g}" y="{text.down:g}" text-anchor="{text.anchor}">'
        f"{html.escape(text.text)}</text>\n"
    )
