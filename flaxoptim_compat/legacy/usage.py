"""The lost names that a program uses, their counts, and the line that reports them."""

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
# The lost modules that the program imports, whether or not it uses a name of them.
imports: Counter[str] = Counter()
# The files that used or imported such names, without the file that Python was started with.
imported_files: set[str] = set()
# True if the program has made a random key, under `run`.
made_keys = False


def record(name: str, notice: str | None = None) -> None:
    """Count a use of a name by the program, and warn with the notice.

    Args:
      name: the full name, such as ``jax.tree_map``; with parentheses for an old call.
      notice: the text of the warning; None if other code warns.
    """
    # The frame that reads the attribute, or calls. In a from-import, Python itself reads it too.
    frame: FrameType | None = sys._getframe(2)
    # The function that takes lists again is between this one and the program.
    while frame is not None and frame.f_globals.get("__name__") == _TAKING_LISTS:
        frame = frame.f_back
    if frame is None:
        return
    if frame.f_globals.get("__name__") in ("importlib._bootstrap", "_frozen_importlib"):
        return
    if _count(name, frame, counts) and notice is not None:
        deprecation.warn_at(frame, notice)


def record_import(name: str) -> None:
    """Count the import of a module by the program, which may use no name of the module."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and _imports(frame):
        frame = frame.f_back
    if frame is not None:
        _count(name, frame, imports)


def record_of(made: type, name: str) -> None:
    """Count a use of something that is gone by a class, if it is one of the program.

    Args:
      made: the class.
      name: what it uses.
    """
    module = sys.modules.get(made.__module__)
    if not is_in_a_library(getattr(module, "__file__", None) or ""):
        counts[name] += 1


def _imports(frame: FrameType) -> bool:
    """True if a frame is a step of an import, in Python's code or in this package's."""
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0] in ("importlib", "_frozen_importlib", "flaxoptim_compat")


def _count(name: str, frame: FrameType, into: Counter[str]) -> bool:
    # A library may look for a name to find out the version of jax. That is no use by the program.
    if is_in_a_library(frame.f_code.co_filename):
        return False
    into[name] += 1
    if frame.f_globals.get("__name__") != "__main__":
        imported_files.add(frame.f_code.co_filename)
    return True


@functools.lru_cache(maxsize=4096)
def is_in_a_library(filename: str) -> bool:
    """True if a file belongs to Python, to an installed package or to this package."""
    paths = sysconfig.get_paths()
    libraries = {paths[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    libraries.add(str(Path(__file__).parents[1]))  # this package, in a checkout
    return filename.startswith(tuple(f"{library}{os.sep}" for library in libraries))


# The largest number of folders in the command at the end of the line.
_FOLDERS = 3


def closing_line(program: str, names: int | None, home: str) -> str:
    """The last line of ``flaxoptim-compat run``.

    Args:
      program: the file or folder of the program.
      names: the number of names in the line, the most used first; None for all.
      home: the full path of the folder of the program.
    """
    numbers = _of_random_numbers()
    used_names = counts or imports
    if not used_names:
        # Perhaps the program failed before: that plain python runs it is not said.
        return f"flaxoptim-compat: no legacy names were used.{numbers}"
    shown = [f"{name} ({count}x)" for name, count in used_names.most_common(names)]
    used = ", ".join(shown)
    if more := len(used_names) - len(shown):
        used += f" and {more} other name{'s' if more > 1 else ''}, which run --verbose lists"
    where = shlex.join(_to_scan(program, home))
    return f"flaxoptim-compat: used {used}.{numbers} To see where: flaxoptim-compat scan {where}"


def _of_random_numbers() -> str:
    if not made_keys or not sys.modules["jax"].config.jax_threefry_partitionable:
        return ""
    return " The random numbers are those of today's jax; run --random then gives the old ones."


def _to_scan(program: str, home: str) -> list[str]:
    """The program, or its folder if other files used names, and the folders of files elsewhere."""
    used = [file for file in imported_files if os.path.isfile(file)]
    if not used or os.path.isdir(program):
        return [program]
    inside = f"{home}{os.sep}"
    folders = {Path(file).parent for file in used if not file.startswith(inside)}
    # Whoever scans a folder scans those in it.
    outer = sorted(str(each) for each in folders if folders.isdisjoint(each.parents))
    return [os.path.dirname(program) or ".", *outer][:_FOLDERS]
