"""Run two optimizers side by side, and say whether, where and why they part."""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from flaxoptim_compat.parity import trial as trial
    from flaxoptim_compat.parity.assertions import (
        assert_same_trajectory as assert_same_trajectory,
    )
    from flaxoptim_compat.parity.comparison import compare as compare
    from flaxoptim_compat.parity.errors import ParityError as ParityError
    from flaxoptim_compat.parity.findings import Cause as Cause
    from flaxoptim_compat.parity.findings import Parting as Parting
    from flaxoptim_compat.parity.findings import Track as Track
    from flaxoptim_compat.parity.report import Report as Report
    from flaxoptim_compat.parity.survey import matrix as matrix
    from flaxoptim_compat.parity.tolerance import Tolerance as Tolerance

_HOMES = {
    "Cause": "findings",
    "ParityError": "errors",
    "Parting": "findings",
    "Report": "report",
    "Tolerance": "tolerance",
    "Track": "findings",
    "assert_same_trajectory": "assertions",
    "compare": "comparison",
    "matrix": "survey",
    "trial": "trial",
}

__all__ = list(_HOMES)


# pytest imports this for every user who has the package, and must not have to import jax for it.
def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    return module if name == _HOMES[name] else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
