"""Programs that tests write, and run in the process of all tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def forget_programs(folder: Path) -> None:
    """Forget the modules in a folder: other tests have programs of the same names."""
    inside = f"{folder}{os.sep}"
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(inside):
            del sys.modules[name]
