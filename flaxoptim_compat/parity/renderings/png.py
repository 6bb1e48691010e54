"""A picture as PNG, which matplotlib draws."""

from __future__ import annotations

import io
import warnings

from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.findings import Findings
from flaxoptim_compat.parity.renderings.picture import STYLES, WIDTH, poster

# Pixels of the picture in an inch, of which matplotlib's points are the 72nd part.
_INCH = 100
_DPI = 150
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def require_matplotlib() -> None:
    """See that there is something to draw with.

    Raises:
      ParityError: no matplotlib.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ParityError(
            "PNG needs matplotlib, which is not installed: pip install 'flaxoptim_compat[plot]'."
            " SVG, HTML, JSON and text need nothing."
        ) from error


def to_png(report: Findings) -> bytes:
    """The picture as a file.

    Raises:
      ParityError: no matplotlib.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    whole, (left, top, width, height) = poster(report)
    figure = Figure(figsize=(width / _INCH, height / _INCH))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(left, left + width), ylim=(top + height, top), autoscale_on=False)
    axes.set_axis_off()
    point = 72 / _INCH
    for order, line in enumerate(whole.lines):
        style = STYLES[line.kind]
        for across, down in line.runs:
            axes.plot(
                [WIDTH * each for each in across],
                down,
                "-" if len(across) > 1 else ".",
                color=style.colour,
                linewidth=style.width * point,
                dashes=[each / style.width for each in style.dashes] or (None, None),
                markersize=4,
                zorder=order,
            )
    for text in whole.texts:
        axes.text(
            WIDTH * text.across + text.pixels,
            text.down,
            text.text,
            color=STYLES[text.kind].colour,
            fontsize=12 * point,
            horizontalalignment=_ANCHORS[text.anchor],
            # A dollar sign in a name does not start mathematics.
            parse_math=False,
        )
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # The font has not every script in the world, and shows a box instead.
        warnings.filterwarnings("ignore", "Glyph ", UserWarning)
        figure.savefig(buffer, format="png", dpi=_DPI)
    return buffer.getvalue()
