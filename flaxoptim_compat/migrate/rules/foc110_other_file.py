"""FOC110: a name of ``flax.optim`` that comes from another file of the project."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.names_of_flax_optim import finding, uses_for
from flaxoptim_compat.migrate.rules.rule import Example, Rule

_CODE = """\
from .optimizers import Adam


def create(params):
    return Adam(0.1).create(params)
"""

RULE = Rule(
    code="FOC110",
    name="name-from-another-file",
    summary="a name of `flax.optim` that comes from another file of the project",
    what="""\
Nothing here: it is reported, and rewritten where the other file imports it (FOC101). With `--to
optax` the rules about optimizers know what it is.""",
    why="The import from the other file keeps working, and brings the new name.",
    refuses="",
    examples=(Example(before=_CODE, shim=_CODE),),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each import and use of such a name."""
    for use in uses_for(RULE.code, reading):
        yield finding(RULE.code, reading, use)
