"""The name of the program of this process, in a file without imports that take time."""

from __future__ import annotations

import os
import sys


def program() -> str:
    """The name of the program of this process, which is the same in another run of the command."""
    for word in sys.orig_argv[1:]:
        if not word.startswith("-"):
            name = os.path.basename(word)
            for digit in "123456789":
                name = name.replace(digit, "0")
            while "00" in name:
                name = name.replace("00", "0")
            return name[:80]
    return ""
