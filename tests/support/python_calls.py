"""Counting the Python functions that a call runs: a measure of its cost that never varies."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flaxoptim_compat

PACKAGE = str(Path(flaxoptim_compat.__file__).parent)


def files_of_calls(function: Callable[[], Any]) -> list[str]:
    """The file of every Python function that is called, and of every generator that goes on."""
    files: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        del argument
        if event == "call":
            files.append(frame.f_code.co_filename)

    # What a collection calls, such as jax's own callback, is no part of the cost.
    collecting = gc.isenabled()
    gc.disable()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
        if collecting:
            gc.enable()
    return files


def calls_in_package(function: Callable[[], Any]) -> int:
    """How many of them are in this package."""
    return sum(file.startswith(PACKAGE) for file in files_of_calls(function))
