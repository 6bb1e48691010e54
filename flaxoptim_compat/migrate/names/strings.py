"""Names of flax.optim that stand in strings: for gin, for mock.patch, in a configuration."""

from __future__ import annotations

import re

from flaxoptim_compat.migrate.names import gin

_NAME = r"flax\.optim(?:\.[A-Za-z_]\w*)*"
_WHOLE = re.compile(_NAME)


def names_in(text: str) -> tuple[str, ...]:
    """The full names of flax.optim that a text is or that it binds for gin; prose has none."""
    if "flax.optim" not in text:
        return ()
    if _WHOLE.fullmatch(text):
        return (text,)
    return gin.bound_names(text)
