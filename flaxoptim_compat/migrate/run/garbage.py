"""The garbage collector while a program is analysed: syntax trees are many, and no garbage."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

# So many bytes of source are analysed before the garbage of their analysis is collected.
MOST_ANALYSED = 6_000_000


@contextlib.contextmanager
def only_when_asked() -> Iterator[None]:
    """Collect garbage only where ``gc.collect`` is called."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # The objects of the run count as old from now on, so that no collection walks them soon.
        gc.freeze()
        gc.unfreeze()
        if was_enabled:
            gc.enable()
