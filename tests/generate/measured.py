"""The tables of the README and of ``migration_guide/speed.md``, from what was recorded."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import page
from tests.benchmarks.recording import Recording
from tests.generate.generator import Files, Generator
from tests.support.places import GUIDE, ROOT

_FOLDER = ROOT / "tests" / "benchmarks" / "recorded"
RECORDED, RECORDED_ON_GPU = _FOLDER / "cpu.json", _FOLDER / "gpu.json"


def _summary(cpu: Recording, gpu: Recording) -> str:
    return f"{page.summary(cpu)}\n{page.summary_of_gpu(gpu)}"


def _everything(cpu: Recording, gpu: Recording) -> str:
    return f"{page.everything(cpu)}\n\n{page.everything(gpu, ', on a GPU')}"


RENDERED: dict[Path, Callable[[Recording, Recording], str]] = {
    ROOT / "README.md": _summary,
    GUIDE / "speed.md": _everything,
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
    """Both pages with the numbers of the recordings."""
    recordings = Recording.load(RECORDED), Recording.load(RECORDED_ON_GPU)
    return {
        path: with_numbers(path.read_text(), render(*recordings)).encode()
        for path, render in RENDERED.items()
    }


GENERATOR = Generator(
    "the tables of README.md and speed.md: tests/benchmarks/recorded/cpu.json and gpu.json", files
)
