"""Run two optimizers side by side, and say whether, where and why they part."""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from flaxoptim_compat.parity import trial
    from flaxoptim_compat.parity.comparison import compare
    from flaxoptim_compat.parity.errors import ParityError
    from flaxoptim_compat.parity.recordings.recording import Recording
    from flaxoptim_compat.parity.report import Cause, Parting, Report, Track
    from flaxoptim_compat.parity.survey import matrix
    from flaxoptim_compat.parity.testing.assertions import assert_same_trajectory
    from flaxoptim_compat.parity.tolerance import Tolerance

_HOMES = {
    "Cause": "report",
    "ParityError": "errors",
    "Parting": "report",
    "Recording": "recordings.recording",
    "Report": "report",
    "Tolerance": "tolerance",
    "Track": "report",
    "assert_same_trajectory": "testing.assertions",
    "compare": "comparison",
    "matrix": "survey",
}

__all__ = [
    "Cause",
    "ParityError",
    "Parting",
    "Recording",
    "Report",
    "Tolerance",
    "Track",
    "assert_same_trajectory",
    "compare",
    "matrix",
    "trial",
]


# pytest imports this for every user who has the package, and must not have to import jax for it.
def __getattr__(name: str) -> Any:
    if name == "trial":
        return importlib.import_module(f"{__name__}.trial")
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
