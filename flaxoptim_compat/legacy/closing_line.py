"""What a program used, in one line."""

from __future__ import annotations

import os
import shlex
import sys

from flaxoptim_compat.legacy import usage

# How many folders the command at the end of the line has.
_FOLDERS = 3


def line(program: str, names: int | None, home: str) -> str:
    """The line that ``flaxoptim-compat run`` ends with.

    Args:
      program: its file or folder.
      names: how many names it has, the most used ones; all if None.
      home: the full path of the folder of the program.
    """
    numbers = _of_random_numbers()
    if not usage.counts:
        # Python keeps there what nothing caught.
        if hasattr(sys, "last_value"):
            return f"flaxoptim-compat: no legacy names were used before that.{numbers}"
        return (
            "flaxoptim-compat: no legacy names were used; python runs this program as it is."
            f"{numbers}"
        )
    shown = [f"{name} ({count}x)" for name, count in usage.counts.most_common(names)]
    used = ", ".join(shown)
    if more := len(usage.counts) - len(shown):
        used += f" and {more} other name{'s' if more > 1 else ''}, which run --verbose lists"
    where = shlex.join(_to_scan(program, home))
    return f"flaxoptim-compat: used {used}.{numbers} To see where: flaxoptim-compat scan {where}"


def _of_random_numbers() -> str:
    if not usage.made_keys or not sys.modules["jax"].config.jax_threefry_partitionable:
        return ""
    return " Its random numbers are those of today's jax; run --random then gives the old ones."


def _to_scan(program: str, home: str) -> list[str]:
    """The program; if other files used names, its folder, and those of files that are elsewhere."""
    used = [each for each in usage.imported_files if os.path.isfile(each)]
    if not used or os.path.isdir(program):
        return [program]
    inside = f"{home}{os.sep}"
    elsewhere = {os.path.dirname(each) for each in used if not each.startswith(inside)}
    return [os.path.dirname(program) or ".", *sorted(elsewhere)][:_FOLDERS]
