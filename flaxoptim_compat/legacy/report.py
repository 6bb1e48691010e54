"""What a program used, in one line."""

from __future__ import annotations

from flaxoptim_compat.legacy import uses


def line(scanned: str) -> str:
    """The line that ``flaxoptim-compat run`` ends with.

    Args:
      scanned: the file or folder of the program.
    """
    if not uses.counts:
        return "flaxoptim-compat: no legacy names were used; python runs this program as it is."
    used = ", ".join(f"{name} ({count}x)" for name, count in uses.counts.most_common())
    return f"flaxoptim-compat: used {used}. To see where: flaxoptim-compat scan {scanned}"
