"""The function ``inspect.getargspec``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple


class ArgSpec(NamedTuple):
    """The parameters of a function without keyword-only parameters."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    """Return the parameters of a function.

    Raises:
      ValueError: the function has keyword-only parameters or annotations, which an ArgSpec cannot
        show.
    """
    full = inspect.getfullargspec(func)
    if full.kwonlyargs or full.annotations:
        raise ValueError(
            "Function has keyword-only parameters or annotations: use inspect.signature()"
        )
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)
