"""A progress bar on a terminal, by rich, and nothing anywhere else."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from typing import Self

    from rich.progress import Progress as Bar

# Work that is done by then, in seconds, needs no bar.
_DELAY = 1.0
_WIDTH = 30
# So many characters of the end of a path, such that the bar fits a line of 80.
_LONGEST = 26


class Progress:
    """A bar on stderr of how much is done, which goes away in the end.

    Args:
      unit: the unit of the counts.
    """

    def __init__(self, unit: Literal["bytes", "files", "optimizers", "steps"]) -> None:
        self._unit = unit
        self._now: tuple[int, int, str] = (0, 0, "")
        self._bar: Bar | None = None
        # A long read reports nothing meanwhile, so a clock starts the bar.
        self._clock = threading.Timer(_DELAY, self._begin)
        self._clock.daemon = True

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._clock.cancel()
        if self._clock.is_alive():
            self._clock.join()
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int, what: str = "") -> None:
        """Update the bar: the work done, the whole work, and the name of the present item."""
        self._now = (done, total, what)
        if self._bar is not None:
            self._tell(self._bar)

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            ProgressColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as Bar

        columns: list[ProgressColumn] = [BarColumn(_WIDTH)]
        if self._unit == "bytes":
            columns += [DownloadColumn(), TransferSpeedColumn()]
        else:
            columns += [MofNCompleteColumn(), TextColumn(self._unit)]
        if self._unit == "steps":
            columns.append(TimeRemainingColumn())
        columns.append(TextColumn("{task.description}", markup=False))
        bar = Bar(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5)
        bar.add_task("", total=None)
        # Later calls update the bar themselves; this is the last one before.
        self._bar = bar
        self._tell(bar)
        bar.start()

    def _tell(self, bar: Bar) -> None:
        done, total, what = self._now
        if len(what) > _LONGEST:
            what = f"…{what[-_LONGEST:]}"
        bar.update(bar.task_ids[0], completed=done, total=total, description=what)
