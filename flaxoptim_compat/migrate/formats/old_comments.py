"""Comments of rewritten files that speak of names which are gone: people have to check them."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.marks import marks_in
from flaxoptim_compat.migrate.run.reports import RunReport
from flaxoptim_compat.printable import one_line

_OMNISTAGING = r"omnistaging"
_OF_OPTIMIZERS = r"\w*opt(?:imizer)?\.(?:target|state)\b|flax\.optim\b|\bapply_gradient\b"


def old_comments(report: RunReport, target: str) -> Iterator[str]:
    """The lines on these comments, with their places in the new files.

    Args:
      report: the report of a rewrite.
      target: ``shim`` or ``optax``: only with optax, names of flax.optim are gone.
    """
    moves = target == "optax" and bool(report.moved) and not report.staying
    gone = re.compile(f"{_OMNISTAGING}|{_OF_OPTIMIZERS}" if moves else _OMNISTAGING)
    for each in report.files:
        if each.new is None or each.path.suffix != ".py":
            continue
        try:
            tokens = list(tokenize.tokenize(io.BytesIO(each.new).readline))
        except (tokenize.TokenError, SyntaxError):
            continue
        for token in tokens:
            name = gone.search(token.string) if token.type == tokenize.COMMENT else None
            if name and not list(marks_in(token.string)):
                yield (
                    f"{one_line(each.path)}:{token.start[0]}: the comment speaks of `{name[0]}`:"
                    " check whether the comment is still right"
                )
