"""A progress bar on a terminal, and nothing anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

_WIDTH = 30
_PAUSE = 0.1


def megabytes(done: int, total: int, seconds: float) -> str:
    """How many bytes are done, and how fast."""
    return f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB, {done / seconds / 1e6:,.0f} MB/s"


def steps(done: int, total: int, seconds: float) -> str:
    """How many steps are done, and how many seconds the rest will take."""
    left = (total - done) * seconds / max(done, 1)
    return f"step {done:,} of {total:,}, {left:,.0f} s left"


def optimizers(done: int, total: int, seconds: float) -> str:
    """How many optimizers are done."""
    del seconds
    return f"{done} of {total} optimizers"


def files(done: int, total: int, seconds: float) -> str:
    """How many files are done."""
    del seconds
    return f"{done:,} of {total:,} files"


class Progress:
    """How much is done of all, in a line on stderr that goes away in the end.

    Args:
      describe: what to say after the bar, from what is done, all there is, and the seconds passed.
      delay: show nothing for so many seconds; what is done by then needs no bar.
    """

    def __init__(
        self, describe: Callable[[int, int, float], str] = megabytes, delay: float = 0.0
    ) -> None:
        self._describe = describe
        self._delay = delay
        self._shown = sys.stderr.isatty()
        self._start = time.monotonic()
        self._last = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._shown and self._last:
            self._print("")

    def __call__(self, done: int, total: int) -> None:
        """Show how much is done."""
        now = time.monotonic()
        if not self._shown or now - self._last < _PAUSE or now - self._start < self._delay:
            return
        self._last = now
        share = done / total if total else 1.0
        bar = ("#" * round(_WIDTH * share)).ljust(_WIDTH, ".")
        text = self._describe(done, total, max(now - self._start, _PAUSE))
        self._print(f"[{bar}] {text}")

    def _print(self, text: str) -> None:
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
