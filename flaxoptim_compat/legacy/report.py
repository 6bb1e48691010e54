"""What a program used, in one line."""

from __future__ import annotations

from flaxoptim_compat.legacy import uses


def line(scanned: str, names: int | None) -> str:
    """The line that ``flaxoptim-compat run`` ends with.

    Args:
      scanned: the file or folder of the program.
      names: how many names it has, the most used ones; all if None.
    """
    if not uses.counts:
        return "flaxoptim-compat: no legacy names were used; python runs this program as it is."
    shown = [f"{name} ({count}x)" for name, count in uses.counts.most_common(names)]
    used = ", ".join(shown)
    if more := len(uses.counts) - len(shown):
        used += f" and {more} other name{'s' if more > 1 else ''}, which run --verbose lists"
    return f"flaxoptim-compat: used {used}. To see where: flaxoptim-compat scan {scanned}"
