"""The pictures of the guide: what this package makes, as Chromium shows it."""

from __future__ import annotations

import contextlib
import io
import shlex
import tempfile
from pathlib import Path

from PIL import Image

from flaxoptim_compat.cli import main
from tests.generate.generator import Files, Generator
from tests.support.browser import browser
from tests.support.pages import README
from tests.support.places import GUIDE

PARITY = GUIDE / "pictures" / "parity.png"
# Down to the end of the curves.
_WIDTH, _HEIGHT = 1000, 1020


def parity_command() -> list[str]:
    """What the README says to make the page that is in the picture, without the program."""
    (line,) = (each for each in README.splitlines() if "--report" in each)
    return shlex.split(line)[1:]


def files() -> Files:
    """The picture of the page of a comparison."""
    *arguments, _ = parity_command()
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        page = Path(folder) / "report.html"
        with contextlib.redirect_stdout(io.StringIO()):
            main([*arguments, str(page)])
        chromium.media(_WIDTH, _HEIGHT)
        chromium.open(page)
        chromium.run("document.documentElement.style.overflow = 'hidden'")  # no scroll bar
        shown = Image.open(io.BytesIO(chromium.screenshot())).convert("RGB")
    written = io.BytesIO()
    # A palette takes a third of the space, and the curves keep their colours.
    shown.quantize(method=Image.Quantize.MAXCOVERAGE).save(written, "png", optimize=True)
    return {PARITY: written.getvalue()}


GENERATOR = Generator("migration_guide/pictures: the pages of comparisons, in Chromium", files)
