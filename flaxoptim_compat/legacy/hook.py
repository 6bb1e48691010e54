"""Waits, from the start of an interpreter, for the first import that matters to old programs.

This code runs in every program of an environment. Therefore it imports nothing and costs little.
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
# Modules of Python that lost names, which a program may import before the roots.
OF_PYTHON = ("base64", "collections", "fractions", "inspect", "time")


class Hook:
    """A finder that finds nothing, and installs flax.optim when one of the roots is imported.

    Args:
      era: whether to serve the other lost names too.
    """

    is_of_this_package = True

    def __init__(self, era: bool) -> None:
        self.era = era

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None, until one of the roots is imported, which installs flax.optim."""
        if name in OF_PYTHON and self.era:
            return _spec_that_asks(name)
        if name not in ROOTS or not self.install():
            return None
        from flaxoptim_compat.legacy import installing

        # Python's search goes on with the old list of finders, without the new one.
        return installing.watch.find_spec(name, path, target)

    def install(self) -> bool:
        """Stop waiting, and install flax.optim; returns False if there is a real ``flax.optim``."""
        from flaxoptim_compat.legacy import installing

        # Another thread may have come here first.
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for name in OF_PYTHON:
            if name in sys.modules:
                vars(sys.modules[name]).pop("__getattr__", None)
        if installing.existing_flax_optim() is not None:
            return False
        installing.install(era=self.era)
        return True


def _ask_first(module: ModuleType) -> None:
    """Let a module of Python install everything when the program first reads a lost name of it."""

    def __getattr__(name: str) -> object:  # noqa: N807
        if not name.startswith("__"):
            for finder in sys.meta_path:
                if isinstance(finder, Hook) and finder.install():
                    return getattr(module, name)
        message = f"module {module.__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=module)

    module.__getattr__ = __getattr__  # type: ignore[method-assign]


def _spec_that_asks(name: str) -> ModuleSpec | None:
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec(name)
    if spec is not None and spec.loader is not None:
        loader = spec.loader

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            loader.exec_module(module)
            _ask_first(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]
    return spec


def start(era: bool) -> None:
    """Begin to wait, unless a hook waits already."""
    for finder in sys.meta_path:
        if isinstance(finder, Hook):
            finder.era = finder.era or era
            return
    sys.meta_path.insert(0, Hook(era))
    for name in OF_PYTHON:
        if era and name in sys.modules:
            _ask_first(sys.modules[name])


def start_from_environment() -> None:
    """Begin to wait, with the settings in the environment variables of ``flaxoptim-compat run``."""
    start(era=os.environ.get(SERVE) == "era")
    if not reports():
        return
    import atexit

    _, names, program = os.environ[REPORT].split(":", 2)
    # Found now, because the program may change its folder.
    home = "" if program == "." else os.path.dirname(os.path.abspath(program))
    # Python itself reports a missing program.
    if program == "." or os.path.exists(program):
        atexit.register(_report, os.getpid(), int(names) if names else None, program, home)


def reports() -> bool:
    """True if this process is the program of ``run``, which reports the used names at its end."""
    # Child processes inherit the variable. The process number in it is that of the program.
    return os.environ.get(REPORT, "").partition(":")[0] == str(os.getpid())


def _report(process: int, names: int | None, program: str, home: str) -> None:
    if process != os.getpid():
        return
    # With -m, a program that was found has a file.
    if program == "." and not hasattr(sys.modules["__main__"], "__file__"):
        return
    from flaxoptim_compat.legacy.usage import closing_line

    print(closing_line(program, names, home), file=sys.stderr)
