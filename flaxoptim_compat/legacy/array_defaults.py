"""Fields of dataclasses with arrays as defaults, which Python refuses since 3.11."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

from flaxoptim_compat.legacy.replacing import replace

_REFUSED = re.compile(r"mutable default .* for field (\w+) is not allowed", re.DOTALL)


def accept_array_defaults() -> Callable[[], None]:
    """Let dataclasses have defaults that cannot be hashed, and return what ends that.

    Lists, dicts and sets were always refused, and are. Who has imported the decorator by name
    before now is reached too, which is why it is not the decorator that is replaced.
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
                return made

    return replace(dataclasses, "_process_class", process)


def _give_factory(cls: type, name: str, defaults: dict[str, Any]) -> bool:
    given = vars(cls).get(name)
    default = given.default if isinstance(given, dataclasses.Field) else given
    if name in defaults or isinstance(default, (list, dict, set)):
        return False
    if isinstance(given, dataclasses.Field):
        given.default = dataclasses.MISSING
        given.default_factory = lambda: default
    else:
        setattr(cls, name, dataclasses.field(default_factory=lambda: default))
    defaults[name] = default
    return True
