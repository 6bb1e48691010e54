"""Programs that tests write, and run in the process of all tests."""

from __future__ import annotations

import sys
from pathlib import Path


def forget_programs(folder: Path) -> None:
    """Forget the modules in a folder: other tests have programs of the same names."""
    for name in list(sys.modules):
        if folder in Path(getattr(sys.modules[name], "__file__", None) or "/").parents:
            del sys.modules[name]
