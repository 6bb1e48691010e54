"""Names of flax.optim that stand in strings: for gin, for mock.patch, in a configuration."""

from __future__ import annotations

import re

_NAME = r"flax\.optim(?:\.[A-Za-z_]\w*)*"
# The text is a name, or a line of it assigns to one or takes one with @, as gin does.
_WHOLE = re.compile(_NAME)
_GIN = re.compile(rf"(?m)^[ \t]*(?:\w+/)*({_NAME})[ \t]*=|@(?:\w+/)*({_NAME})")


def names_in(text: str) -> tuple[str, ...]:
    """The full names of flax.optim that a text is or that it binds for gin; prose has none."""
    if "flax.optim" not in text:
        return ()
    if _WHOLE.fullmatch(text):
        return (text,)
    return tuple(dict.fromkeys(one or other for one, other in _GIN.findall(text)))
