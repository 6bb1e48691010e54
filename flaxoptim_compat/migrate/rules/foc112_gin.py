"""FOC112: a name of ``flax.optim`` in a gin file."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.names import gin
from flaxoptim_compat.migrate.names.surface import served
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.rules.table_of_flax_optim_names import GONE

RULE = Rule("FOC112", "name-in-a-gin-file")


def find(reading: Reading) -> Iterator[Finding]:
    """Each name in a gin file; files of Python have none."""
    document = reading.document
    for each in gin.names_in(document.text) if document.is_gin else ():
        line, _ = document.position(each.start)
        if not reading.allows_on(line, RULE.code):
            continue
        what = f"{each.name}, {GONE}"
        instead = served(each.name) or "code of your own"
        edits = None if each.new is None else (Edit(each.start, each.end, (each.new,)),)
        span = each.start, each.end
        yield Finding(RULE.code, *span, what, instead, edits, edits, reason=each.reason)
