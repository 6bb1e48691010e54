"""FOC111: a call of ``flaxoptim_compat.install``, or the magic of notebooks that calls it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule

RULE = Rule("FOC111", "install", is_rewritten=False)

_MAGIC = re.compile(r"[ \t]*(%(?:re)?load_ext[ \t]+flaxoptim_compat)[ \t]*(?:#.*)?")
_INSTEAD = "nothing, once all files are rewritten"


def find(reading: Reading) -> Iterator[Finding]:
    """Each call of ``install``, and each magic in its place."""
    for use in reading.names.uses:
        if use.name != "flaxoptim_compat.install" or not isinstance(use.node, ast.expr):
            continue
        call = reading.document.parents[use.node]
        if not isinstance(call, ast.Call) or call.func is not use.node:
            continue
        if reading.allows(RULE.code, call):
            start, end = reading.document.span(call)
            what = "flaxoptim_compat.install()"
            yield Finding(RULE.code, start, end, what, _INSTEAD)
    for line, magic in reading.document.magics.items():
        match = _MAGIC.fullmatch(magic)
        if match is not None and reading.allows_on(line, RULE.code):
            start = reading.document.offset(line, match.start(1))
            yield Finding(RULE.code, start, start, match[1], _INSTEAD)
