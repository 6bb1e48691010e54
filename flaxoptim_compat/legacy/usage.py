"""The legacy names that a program uses, how often, and one line that says so."""

from __future__ import annotations

import functools
import os
import shlex
import sys
import sysconfig
from collections import Counter
from pathlib import Path
from types import FrameType

from flaxoptim_compat import deprecation

_TAKING_LISTS = "flaxoptim_compat.legacy.lists"

counts: Counter[str] = Counter()
# The modules that it imports, whether or not it uses a name of theirs.
imports: Counter[str] = Counter()
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
    if _count(name, frame, counts) and notice is not None:
        deprecation.warn_at(frame, notice)


def record_import(name: str) -> None:
    """Count the import of a module by the program, which it may use no name of."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and _imports(frame):
        frame = frame.f_back
    if frame is not None:
        _count(name, frame, imports)


def _imports(frame: FrameType) -> bool:
    """True if a frame is a step of an import: Python's own, or of a module that lost the name."""
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0] in ("importlib", "_frozen_importlib", "flaxoptim_compat")


def _count(name: str, frame: FrameType, into: Counter[str]) -> bool:
    # A library that looks for a name, to know which jax it has, is not the program.
    if _is_in_a_library(frame.f_code.co_filename):
        return False
    into[name] += 1
    if frame.f_globals.get("__name__") != "__main__":
        imported_files.add(frame.f_code.co_filename)
    return True


@functools.lru_cache(maxsize=4096)
def _is_in_a_library(filename: str) -> bool:
    paths = sysconfig.get_paths()
    libraries = {paths[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    libraries.add(str(Path(__file__).parents[1]))  # this package, in a checkout
    return filename.startswith(tuple(f"{library}{os.sep}" for library in libraries))


# How many folders the command at the end of the line has.
_FOLDERS = 3


def closing_line(program: str, names: int | None, home: str) -> str:
    """The line that ``flaxoptim-compat run`` ends with.

    Args:
      program: its file or folder.
      names: how many names it has, the most used ones; all if None.
      home: the full path of the folder of the program.
    """
    numbers = _of_random_numbers()
    used_names = counts or imports
    if not used_names:
        # Python keeps there what nothing caught.
        if hasattr(sys, "last_value"):
            return f"flaxoptim-compat: no legacy names were used before that.{numbers}"
        return (
            "flaxoptim-compat: no legacy names were used; python runs this program as it is."
            f"{numbers}"
        )
    shown = [f"{name} ({count}x)" for name, count in used_names.most_common(names)]
    used = ", ".join(shown)
    if more := len(used_names) - len(shown):
        used += f" and {more} other name{'s' if more > 1 else ''}, which run --verbose lists"
    where = shlex.join(_to_scan(program, home))
    return f"flaxoptim-compat: used {used}.{numbers} To see where: flaxoptim-compat scan {where}"


def _of_random_numbers() -> str:
    if not made_keys or not sys.modules["jax"].config.jax_threefry_partitionable:
        return ""
    return " Its random numbers are those of today's jax; run --random then gives the old ones."


def _to_scan(program: str, home: str) -> list[str]:
    """The program; if other files used names, its folder, and those of files that are elsewhere."""
    used = [file for file in imported_files if os.path.isfile(file)]
    if not used or os.path.isdir(program):
        return [program]
    inside = f"{home}{os.sep}"
    elsewhere = {os.path.dirname(file) for file in used if not file.startswith(inside)}
    return [os.path.dirname(program) or ".", *sorted(elsewhere)][:_FOLDERS]
