"""Arrays as defaults of dataclass fields, which Python refuses since 3.11."""

from __future__ import annotations

import dataclasses
import re
from contextlib import ExitStack
from typing import Any

from flaxoptim_compat.legacy.replacing import replace
from flaxoptim_compat.legacy.usage import record_of

_REFUSED = re.compile(r"mutable default .* for field (\w+) is not allowed", re.DOTALL)


def accept_array_defaults(undo: ExitStack) -> None:
    """Let dataclasses have defaults that cannot be hashed.

    Lists, dicts and sets are still refused, as before Python 3.11. The function behind the
    decorator is replaced and not the decorator, which programs may have imported by name already.
    """
    original = vars(dataclasses)["_process_class"]

    def process(cls: type, *args: Any, **kwargs: Any) -> type:
        defaults: dict[str, Any] = {}
        while True:
            try:
                made: type = original(cls, *args, **kwargs)
            except ValueError as error:
                refused = _REFUSED.search(str(error))
                if refused is None or not _give_factory(cls, refused[1], defaults):
                    raise
            else:
                for name, default in defaults.items():
                    setattr(made, name, default)
                    record_of(made, f"the default of {made.__qualname__}.{name}")
                return made

    replace(dataclasses, "_process_class", process, undo)


def _give_factory(cls: type, name: str, defaults: dict[str, Any]) -> bool:
    value = vars(cls).get(name)
    default = value.default if isinstance(value, dataclasses.Field) else value
    if name in defaults or isinstance(default, (list, dict, set)):
        return False
    if isinstance(value, dataclasses.Field):
        value.default = dataclasses.MISSING
        value.default_factory = lambda: default
    else:
        setattr(cls, name, dataclasses.field(default_factory=lambda: default))
    defaults[name] = default
    return True
