"""FOC111: a call of ``flaxoptim_compat.install``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule

_CODE = """\
import flaxoptim_compat

flaxoptim_compat.install()
"""

RULE = Rule(
    code="FOC111",
    name="install",
    summary="a call of `flaxoptim_compat.install`",
    what="Nothing: it is reported.",
    why="""\
A program that has been rewritten needs no `install()`, so the call can be deleted when the last
file is done. While other files, or libraries that the program imports, still use `flax.optim` it is
needed.""",
    refuses="",
    examples=(Example(before=_CODE, shim=_CODE, optax=_CODE),),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each call of ``install``."""
    for use in reading.names.uses:
        if use.name != "flaxoptim_compat.install" or not isinstance(use.node, ast.expr):
            continue
        call = reading.document.parents[use.node]
        if isinstance(call, ast.Call) and reading.allows(RULE.code, call):
            start, end = reading.document.span(call)
            what = "flaxoptim_compat.install()"
            yield Finding(RULE.code, start, end, what, "nothing, once all files are rewritten")
