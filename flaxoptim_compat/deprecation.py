"""The warnings of this package, each shown once for each place in a program."""

from __future__ import annotations

import linecache
import sys
import warnings
from types import FrameType

# Modules whose code runs on behalf of the program. A warning is about the line that called them.
_INSIDE = (
    "flaxoptim_compat.optim",
    "flaxoptim_compat.bridge",
    "flaxoptim_compat.era",
    "flaxoptim_compat.legacy",
    "flaxoptim_compat.nn",
    "flaxoptim_compat.deprecation",
    "importlib",
    "_frozen_importlib",
)

# True if the program still imports flax.optim, which install() serves: see _raise_or_show.
program_is_unedited = False

# {an instruction of a program, or a text and a line: the warning filters at its last warning}
_shown: dict[tuple[type[Warning], str, int, int | str], tuple[object, int]] = {}


class FlaxOptimDeprecationWarning(DeprecationWarning):
    """A program uses a name that Flax, jax or numpy removed; the text names the replacement."""


class FlaxOptimLeniencyWarning(UserWarning):
    """A likely mistake was accepted, as in flax.optim; the text names the place."""


def warn(
    message: str,
    category: type[Warning] = FlaxOptimDeprecationWarning,
    on_behalf: tuple[str, ...] = (),
) -> None:
    """Warn about the line of the program that led here, unless that line was warned about before.

    Args:
      message: the text, with the used name and the code to write instead.
      category: the class of the warning.
      on_behalf: more packages whose code runs on behalf of that line.
    """
    frame = calling_frame(on_behalf)
    if frame is not None:
        warn_at(frame, message, category)


def calling_frame(on_behalf: tuple[str, ...] = ()) -> FrameType | None:
    """The innermost frame of the program's own code; None if this package calls itself.

    Args:
      on_behalf: more packages whose code is not the program's.
    """
    inside = _INSIDE + on_behalf
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_inside(frame, inside):
        frame = frame.f_back
    if frame is None or _module_of(frame).partition(".")[0] == "flaxoptim_compat":
        return None
    return frame


def warn_at(
    frame: FrameType, message: str, category: type[Warning] = FlaxOptimDeprecationWarning
) -> None:
    """Warn about the line that a frame is at, unless that line was warned about before."""
    line = (category, frame.f_code.co_filename, frame.f_lineno)
    # Two definitions on a line warn twice, but never with the same text.
    keys = ((*line, frame.f_lasti), (*line, message))
    # With other filters, or in a new warnings.catch_warnings(), the line warns again.
    filters = (warnings.filters, len(warnings.filters))
    for key in keys:
        shown = _shown.get(key)
        if shown is not None and shown[0] is filters[0] and shown[1] == filters[1]:
            return
    _raise_or_show(frame, message, category)
    _shown.update(dict.fromkeys(keys, filters))


def _raise_or_show(frame: FrameType, message: str, category: type[Warning]) -> None:
    # With this, Python also shows the line of a program that was imported from a zip file.
    linecache.lazycache(frame.f_code.co_filename, frame.f_globals)
    try:
        warnings.warn_explicit(
            message,
            category,
            filename=frame.f_code.co_filename,
            lineno=frame.f_lineno,
            module=_module_of(frame),
        )
    except category as warning:
        # `python -W error` is about the program's own warnings. In the days of flax.optim the
        # program ran with it, and must not fail now because of a name that install() serves.
        if not program_is_unedited or _errors_are_asked_for_by_name(category):
            raise
        filename, lineno = frame.f_code.co_filename, frame.f_lineno
        warnings.showwarning(warning, category, filename, lineno)


def _errors_are_asked_for_by_name(of: type[Warning]) -> bool:
    return any(
        action == "error" and category is of for action, _, category, _, _ in warnings.filters
    )


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__") or "<unknown>")


def _is_inside(frame: FrameType, packages: tuple[str, ...]) -> bool:
    module = _module_of(frame)
    return any(module == inside or module.startswith(f"{inside}.") for inside in packages)
