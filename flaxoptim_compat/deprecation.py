"""The warning that says what to write today, shown once for each place in a program."""

from __future__ import annotations

import linecache
import sys
import warnings
from types import FrameType

# Code that runs on behalf of the line to warn about.
_INSIDE = (
    "flaxoptim_compat.optim",
    "flaxoptim_compat.bridge",
    "flaxoptim_compat.legacy",
    "flaxoptim_compat.nn",
    "flaxoptim_compat.deprecation",
    "importlib",
    "_frozen_importlib",
)

# Whether the program still says flax.optim, because install() serves it: see _raise_or_show.
program_is_unedited = False

# {a place, by its instruction, or a text on a line: the filters that it was last shown to}
_shown: dict[tuple[str, int, int | str], tuple[object, int]] = {}


class FlaxOptimDeprecationWarning(DeprecationWarning):
    """A program uses a name that Flax, jax or numpy removed; the text names the replacement."""


def warn(message: str) -> None:
    """Warn about the line of the program that led here, unless that line was warned about before.

    Args:
      message: what is used, and what to write instead.
    """
    frame = calling_frame()
    if frame is not None:
        warn_at(frame, message)


def calling_frame() -> FrameType | None:
    """The innermost frame that is the program's; None if this package calls itself."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_inside(frame):
        frame = frame.f_back
    if frame is None or _module_of(frame).partition(".")[0] == "flaxoptim_compat":
        return None
    return frame


def warn_at(frame: FrameType, message: str) -> None:
    """Warn about the line that a frame is at, unless that line was warned about before."""
    line = (frame.f_code.co_filename, frame.f_lineno)
    # Two definitions on a line are two places, but nobody needs to read the same text twice.
    keys = ((*line, frame.f_lasti), (*line, message))
    # Whoever changes the filters, or opens a new warnings.catch_warnings(), asks anew.
    filters = (warnings.filters, len(warnings.filters))
    for key in keys:
        shown = _shown.get(key)
        if shown is not None and shown[0] is filters[0] and shown[1] == filters[1]:
            return
    _raise_or_show(frame, message)
    _shown.update(dict.fromkeys(keys, filters))


def _raise_or_show(frame: FrameType, message: str) -> None:
    # So that the line itself is shown, too, of a program that is imported from a zip file.
    linecache.lazycache(frame.f_code.co_filename, frame.f_globals)
    try:
        warnings.warn_explicit(
            message,
            FlaxOptimDeprecationWarning,
            filename=frame.f_code.co_filename,
            lineno=frame.f_lineno,
            module=_module_of(frame),
        )
    except FlaxOptimDeprecationWarning as warning:
        # `python -W error` is about the program's own warnings. In the days of flax.optim it
        # ran like that, and it must not die now of a name that install() is there to serve.
        if not program_is_unedited or _errors_are_asked_for_by_name():
            raise
        filename, lineno = frame.f_code.co_filename, frame.f_lineno
        warnings.showwarning(warning, FlaxOptimDeprecationWarning, filename, lineno)


def _errors_are_asked_for_by_name() -> bool:
    return any(
        action == "error" and category is FlaxOptimDeprecationWarning
        for action, _, category, _, _ in warnings.filters
    )


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__") or "<unknown>")


def _is_inside(frame: FrameType) -> bool:
    module = _module_of(frame)
    return any(module == inside or module.startswith(f"{inside}.") for inside in _INSIDE)
