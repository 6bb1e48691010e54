"""Programs that tests write, and may run in the process of all tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def write(folder: Path, **programs: str) -> None:
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)


def forget_programs(folder: Path) -> None:
    """Forget the modules in a folder: other tests have programs of the same names."""
    inside = f"{folder}{os.sep}"
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(inside):
            del sys.modules[name]
