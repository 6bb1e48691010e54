"""Gin files: they name optimizers, but are no Python, and only their users know what they bind."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flaxoptim_compat.migrate.containers import Place

_NAME = re.compile(
    r"\bflax\.optim(?:\.\w+)*|^[ \t]*from[ \t]+flax[ \t]+import[ \t]+optim\b[^#\n]*", re.MULTILINE
)
_COMMENT = re.compile(r"(?m)#.*$")


def names_in_gin(source: bytes) -> Iterator[tuple[Place, str]]:
    """The places that name flax.optim, and what to do there.

    Args:
      source: the content of the file.
    """
    text = source.decode("utf-8", "replace")
    # Comments name nothing; the rest keeps its place.
    text = _COMMENT.sub(lambda match: " " * len(match[0]), text)
    for match in _NAME.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        column = match.start() - text.rfind("\n", 0, match.start())
        name = match[0].strip()
        end = column + len(match[0])
        new = name.replace("flax.optim", "flaxoptim_compat.optim")
        new = new.replace("from flax import", "from flaxoptim_compat import")
        why = f"a gin file has {name}, and rewrite leaves gin files alone; write {new} there"
        yield Place(line, column, line, end, 0, line), why
