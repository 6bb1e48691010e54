"""What a process of an observed command reports of itself: its program, and how it ended.

Each line is written and closed at once, since a program may close all files, or end at any moment.
The first line names the program, and a process without a last one was killed.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import time

from flaxoptim_compat.observation.record import program

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

SUFFIX = ".process.jsonl"
# As much of the text of an error as is kept.
_LENGTH = 500
# SIGHUP, SIGINT, SIGKILL and SIGTERM; the module of signals takes time.
_ENDING = (1, 2, 9, 15)


class OwnReport:
    """The report of this process, and of each child that it forks, in files of their own.

    Args:
      folder: the folder of the files.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file = ""
        self._begin()

    def _begin(self) -> None:
        self._status: int | None = None
        self._file = os.path.join(self._folder, f"{time.time_ns()}-{os.getpid()}{SUFFIX}")
        self.write(
            program=program(),
            argv=sys.orig_argv,
            executable=sys.executable,
            pid=os.getpid(),
            parent=os.getppid(),
            time=time.time(),
        )

    def write(self, **line: object) -> None:
        """Write a line; without an effect if the folder is gone, or the disk is full."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with contextlib.suppress(OSError):
            if not self._file:
                self._begin()
            file = os.open(self._file, flags, 0o600)
            try:
                os.write(file, json.dumps(line).encode() + b"\n")
            finally:
                os.close(file)

    def after_fork(self) -> None:
        """Begin the report of a child, which for a ``preexec_fn`` of subprocess only begins late.

        That child turns into another program, which nothing tells the report.
        """
        self._file = ""
        if sys._getframe(1).f_code.co_name != "_execute_child":
            self._begin()

    def watch_the_end(self) -> None:
        """Report from now on how the process ends."""
        atexit.register(self._at_exit)
        os.register_at_fork(after_in_child=self.after_fork)
        _call_before(os, "_exit", lambda status: self.write(status=status))
        _call_before(sys, "exit", self._note_exit)
        # exit() and quit(), which programs use as well.
        quitter = type(getattr(sys.modules["builtins"], "exit", None))
        if quitter.__name__ == "Quitter":
            _call_before(quitter, "__call__", lambda _, code=None: self._note_exit(code))
        if sys.argv[:1] == ["-m"]:
            self._watch_module()

    def note_error(self, kind: type[BaseException], error: object) -> None:
        """Report an exception that nobody has caught."""
        try:
            text = str(error)
        except Exception:
            text = ""
        self.write(error=f"{kind.__name__}: {text}"[:_LENGTH] if text else kind.__name__)

    def note_signal(self, process: int, number: int) -> None:
        """Report a signal that may end another process, which then was not killed from outside."""
        if number in _ENDING and process != os.getpid():
            self.write(stops=process)

    def _note_exit(self, code: object = None) -> None:
        self._status = _status_of(code)

    def _watch_module(self) -> None:
        """Note the ``SystemExit`` that the module of ``python -m`` raises itself."""
        import runpy

        run: Any = runpy._run_module_as_main  # type: ignore[attr-defined]

        def _run_module_as_main(*args: Any, **kwargs: Any) -> Any:
            try:
                result = run(*args, **kwargs)
                self._status = 0
                return result
            except SystemExit as error:
                self._status = _status_of(error.code)
                raise

        runpy._run_module_as_main = _run_module_as_main  # type: ignore[attr-defined]

    def _at_exit(self) -> None:
        main = sys.modules.get("__main__")
        # Python deletes the name of a script where the script ends, unless by SystemExit. Nothing
        # is left of `raise SystemExit(...)`; for a text of `-c`, not even that it was raised.
        if _is_script(main) and not hasattr(main, "__file__"):
            self._status = 0
        self.write(status=self._status)


def _is_script(main: ModuleType | None) -> bool:
    """Whether Python itself runs a file, rather than ``runpy``, a text or the standard input."""
    return (
        main is not None
        and getattr(main, "__spec__", None) is None
        and sys.orig_argv[1:] != []
        and _started_as not in ("", "-", "-c", "-m")
    )


# As long as no program runs, this is what the command line of Python says.
_started_as = sys.argv[0] if sys.argv else ""


def _status_of(code: object) -> int:
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1


def _call_before(holder: Any, name: str, note: Callable[..., None]) -> None:
    """Call a function with the arguments of another one, before that is called."""
    function = getattr(holder, name)

    def noting(*args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(Exception):
            note(*args, **kwargs)
        return function(*args, **kwargs)

    noting.__name__, noting.__doc__ = name, function.__doc__
    setattr(holder, name, noting)
