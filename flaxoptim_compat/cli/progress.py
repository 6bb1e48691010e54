"""A progress bar on a terminal, and nothing anywhere else."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

_WIDTH = 30
_PAUSE = 0.1
_USUAL_COLUMNS = 80


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


@contextlib.contextmanager
def spinning(text: str) -> Iterator[None]:
    """Show on a terminal that something runs, of which nobody knows how long it takes."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


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
        self._show(done, total, "")

    def _show(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if not self._shown or now - self._last < _PAUSE or now - self._start < self._delay:
            return
        self._last = now
        share = done / total if total else 1.0
        bar = ("#" * round(_WIDTH * share)).ljust(_WIDTH, ".")
        text = self._describe(done, total, max(now - self._start, _PAUSE))
        line = f"[{bar}] {text}"
        self._print(f"{line}, {_end_of(what, _columns() - len(line) - 3)}" if what else line)

    def _print(self, text: str) -> None:
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


class FileProgress(Progress):
    """How many files are done, and which is being read now, however long that takes."""

    def __init__(self, delay: float) -> None:
        super().__init__(files, delay)
        self._now: tuple[int, int, str] | None = None
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_current, daemon=True)

    def __enter__(self) -> Self:
        if self._shown:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._has_ended.set()
        if self._thread.is_alive():
            self._thread.join()
        super().__exit__(kind, error, traceback)

    def __call__(self, done: int, total: int, what: str = "") -> None:
        """Say how many files are done, and what is read now."""
        self._now = (done, total, what)

    def _keep_current(self) -> None:
        while not self._has_ended.wait(_PAUSE):
            if self._now is not None:
                self._show(*self._now)


def _columns() -> int:
    try:
        # A terminal may not know.
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL_COLUMNS
    except OSError:
        return _USUAL_COLUMNS


def _end_of(text: str, width: int) -> str:
    """The last part of a text, if it does not fit into a line: more than one cannot be removed."""
    return text if len(text) <= width else f"...{text[len(text) - max(width - 3, 0) :]}"
