"""The tables of the README and of ``migration_guide/speed.md``, from what was recorded."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import page
from tests.benchmarks.recording import Recording
from tests.generate.generator import Files, Generator
from tests.support.places import GUIDE, ROOT

RECORDED = ROOT / "tests" / "benchmarks" / "recorded" / "cpu.json"
RENDERED: dict[Path, Callable[[Recording], str]] = {
    ROOT / "README.md": page.summary,
    GUIDE / "speed.md": page.everything,
}
_BEGIN, _END = "<!-- measured -->\n", "<!-- end of what is measured -->"
_BETWEEN = re.compile(f"(?<={re.escape(_BEGIN)}).*?(?={re.escape(_END)})", re.DOTALL)


def with_numbers(text: str, rendered: str) -> str:
    """A page with this in place of what stands between the two marks.

    Raises:
      ValueError: the page does not have the marks once.
    """
    replaced, count = _BETWEEN.subn(lambda _: f"{rendered}\n", text)
    if count != 1:
        raise ValueError(f"{count} places between {_BEGIN.strip()} and {_END.strip()}, not one.")
    return replaced


def files() -> Files:
    """Both pages with the numbers of the recording."""
    recording = Recording.load(RECORDED)
    return {
        path: with_numbers(path.read_text(), render(recording)).encode()
        for path, render in RENDERED.items()
    }


GENERATOR = Generator(
    "the tables of README.md and speed.md: tests/benchmarks/recorded/cpu.json", files
)
