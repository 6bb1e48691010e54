"""Which legacy names a program uses, and how often."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections import Counter
from pathlib import Path
from types import FrameType

from flaxoptim_compat import deprecation

_TAKING_LISTS = "flaxoptim_compat.legacy.lists"

counts: Counter[str] = Counter()
# The files that did, but for the one that Python was started with.
imported_files: set[str] = set()
# Whether it has made a random key, where that is noticed.
made_keys = False


def record(name: str, notice: str | None = None) -> None:
    """Count a use of a name by the program, and say what replaces it.

    Args:
      name: the full name, such as ``jax.tree_map``; with parentheses for a call of old.
      notice: what to write today; None if something else warns.
    """
    # Of who reads the attribute, or calls. Python itself reads it too, in a from-import.
    frame: FrameType | None = sys._getframe(2)
    # What lets a function take lists again stands between the two.
    while frame is not None and frame.f_globals.get("__name__") == _TAKING_LISTS:
        frame = frame.f_back
    if frame is None:
        return
    if frame.f_globals.get("__name__") in ("importlib._bootstrap", "_frozen_importlib"):
        return
    # A library that looks for a name, to know which jax it has, is not the program.
    if _is_in_a_library(frame.f_code.co_filename):
        return
    counts[name] += 1
    if frame.f_globals.get("__name__") != "__main__":
        imported_files.add(frame.f_code.co_filename)
    if notice is not None:
        deprecation.warn_at(frame, notice)


@functools.lru_cache(maxsize=4096)
def _is_in_a_library(filename: str) -> bool:
    paths = sysconfig.get_paths()
    libraries = {paths[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    libraries.add(str(Path(__file__).parents[1]))  # this package, in a checkout
    return filename.startswith(tuple(f"{each}{os.sep}" for each in libraries))
