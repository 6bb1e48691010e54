"""Waits, at the start of an interpreter, for the first import that concerns old programs.

It runs in every program of an environment, so it imports nothing and costs next to nothing.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# Set by `flaxoptim-compat run` for the program that it starts, and for its children.
SERVE = "FLAXOPTIM_COMPAT_SERVE"
REPORT = "FLAXOPTIM_COMPAT_REPORT"

ROOTS = ("flax", "jax", "jaxlib", "numpy")


class Hook:
    """A finder that finds nothing, and installs flax.optim when one of the roots is imported.

    Args:
      era: whether to serve the other names of the time as well.
    """

    is_of_this_package = True

    def __init__(self, era: bool) -> None:
        self.era = era

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find nothing, until there is something to install."""
        if name not in ROOTS:
            return None
        from flaxoptim_compat.legacy import installing

        # Another thread may have come here first.
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        if installing.existing_flax_optim() is not None:
            return None
        installing.install(era=self.era)
        # The search began with a list of finders that did not have the new ones.
        return installing.watch.find_spec(name, path, target)


def start(era: bool) -> None:
    """Begin to wait, unless this was done before."""
    for finder in sys.meta_path:
        if isinstance(finder, Hook):
            finder.era = finder.era or era
            return
    sys.meta_path.insert(0, Hook(era))


def start_from_environment() -> None:
    """Begin to wait as the variables of ``flaxoptim-compat run`` say."""
    start(era=os.environ.get(SERVE) == "era")
    process, _, scanned = os.environ.get(REPORT, "").partition(":")
    # The children of the program inherit the variable, and its number tells them apart.
    if process == str(os.getpid()):
        import atexit

        atexit.register(_report, process, scanned)


def _report(process: str, scanned: str) -> None:
    if process == str(os.getpid()):
        from flaxoptim_compat.legacy import report

        print(report.line(scanned), file=sys.stderr)
