"""Names that jax dropped without a successor that does the same."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.finding_names import findings

RULE = Rule(
    code="FOC153",
    name="stand-ins-for-jax",
    summary="a name that jax removed, and that only this package still has",
    what=(
        "The name is imported from `flaxoptim_compat.era`, where it does what it did:"
        " `host_callback`, `custom_transforms`, `safe_map`, `device_put_replicated`,"
        " `xla_computation` and others."
    ),
    why=(
        "jax raises an AttributeError or an ImportError, and what it has instead takes other"
        " arguments. The finding says what to write in the long run."
    ),
    refuses=(
        "`import *` of a module that is gone, and names that a program gives to a module itself."
    ),
    examples=(
        Example(
            before="from jax.util import safe_map\n\nprint(safe_map(abs, [1]))\n",
            shim=(
                "from flaxoptim_compat.era.jax_util import safe_map\n\nprint(safe_map(abs, [1]))\n"
            ),
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Names of jax without successor, each with what this package serves in its place."""
    yield from findings(reading, RULE.code)
