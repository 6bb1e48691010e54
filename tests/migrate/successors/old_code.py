"""Running the text of a program, as it is today or with the names and behaviours of the era."""

from __future__ import annotations

import warnings
from typing import Any

import flaxoptim_compat


def run(text: str, **names: Any) -> Any:
    """What a program leaves as ``result``."""
    program = dict(names)
    with warnings.catch_warnings():
        # One day scatter will not take wider numbers than there are; the old code did not know it.
        warnings.simplefilter("ignore", FutureWarning)
        exec(compile(text, "program.py", "exec"), program)
    return program["result"]


def run_as_it_was(text: str, **names: Any) -> Any:
    """The same with all names and behaviours of the era."""
    with flaxoptim_compat.installed(era=True), warnings.catch_warnings():
        # The oldest versions still have some of the names, and say that they will be gone.
        warnings.simplefilter("ignore", DeprecationWarning)
        return run(text, **names)
