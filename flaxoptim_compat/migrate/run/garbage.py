"""The garbage collector while a program is analysed: syntax trees are many, and no garbage."""

from __future__ import annotations

import gc

# So many bytes of source are analysed before the garbage of their analysis is collected.
MOST_ANALYSED = 6_000_000


class Collector:
    """Collects garbage between the parts of a program, and at no other time."""

    def __init__(self) -> None:
        self._was_enabled = gc.isenabled()
        # The bytes of source whose analysis has left garbage.
        self._analysed = 0

    def __enter__(self) -> Collector:
        gc.disable()
        return self

    def __exit__(self, *error: object) -> None:
        # The objects of the run count as old from now on, so that no collection walks them soon.
        gc.freeze()
        gc.unfreeze()
        if self._was_enabled:
            gc.enable()

    def make_room(self, size: int) -> None:
        """Collect the garbage of the analysis before, if there may be much of it.

        Args:
          size: the bytes of source that are analysed next.
        """
        if self._analysed + size > MOST_ANALYSED:
            gc.collect()
            self._analysed = 0
        self._analysed += size
