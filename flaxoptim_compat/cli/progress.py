"""A progress bar on a terminal, and nothing anywhere else."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

_WIDTH = 30
_PAUSE = 0.1


class Progress:
    """Bytes done of all, and how fast, in a line on stderr that goes away in the end."""

    def __init__(self) -> None:
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
        if not self._shown or now - self._last < _PAUSE:
            return
        self._last = now
        share = done / total if total else 1.0
        bar = ("#" * round(_WIDTH * share)).ljust(_WIDTH, ".")
        rate = done / max(now - self._start, _PAUSE) / 1e6
        self._print(f"[{bar}] {done / 1e6:,.0f} of {total / 1e6:,.0f} MB, {rate:,.0f} MB/s")

    def _print(self, text: str) -> None:
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
