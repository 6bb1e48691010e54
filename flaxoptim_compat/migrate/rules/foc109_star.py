"""FOC109: ``from flax.optim import *``."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.names_of_flax_optim import finding, uses_for
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC109",
    name="star-import",
    summary="`from flax.optim import *`",
    what="""\
The names come from `flaxoptim_compat.optim`. Modules of `flax.optim` that the file got in this way
(`adam.Adam`) are written `optim.adam.Adam`. With `--to optax` the import goes when nothing uses it
any more.""",
    why="`flaxoptim_compat.optim` has the same public names.",
    refuses="Names after a second `import *` are not known for certain, and not followed.",
    examples=(
        Example(
            before="""\
from flax.optim import *

optimizers = [Adam, adam.Adam]
""",
            shim="""\
from flaxoptim_compat.optim import *
from flaxoptim_compat import optim

optimizers = [Adam, optim.adam.Adam]
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each ``import *`` from ``flax.optim`` or a module of it."""
    for use in uses_for(RULE.code, reading):
        yield finding(RULE.code, reading, use)
