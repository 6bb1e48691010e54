"""A process that is killed in the middle of what it does."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any


def die_at_call(number: int) -> Callable[[], int]:
    """Count the calls into C, as they begin and as they end, and kill this process at one of them.

    Args:
      number: at which; 0: at none.

    Returns:
      What stops that, and returns how many there were.
    """
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        if event in ("c_call", "c_return"):
            calls += 1
            if calls == number:
                os.kill(os.getpid(), signal.SIGKILL)

    def stop() -> int:
        sys.setprofile(None)
        return calls

    sys.setprofile(count)
    return stop
