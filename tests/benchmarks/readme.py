"""``python -m tests.benchmarks.readme``: put what is recorded into the README and the guide."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import page
from tests.benchmarks.recording import Recording
from tests.processes import ROOT

RECORDED = Path(__file__).parent / "recorded" / "cpu.json"
RENDERED: dict[Path, Callable[[Recording], str]] = {
    ROOT / "README.md": page.summary,
    ROOT / "migration_guide" / "speed.md": page.everything,
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


def main() -> None:
    """Rewrite both pages."""
    recording = Recording.load(RECORDED)
    for path, render in RENDERED.items():
        path.write_text(with_numbers(path.read_text(), render(recording)))


if __name__ == "__main__":
    main()
