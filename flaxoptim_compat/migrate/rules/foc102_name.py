"""FOC102: a name of ``flax.optim``, whatever the file calls it."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.names_of_flax_optim import finding, uses_for
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC102",
    name="name-of-flax-optim",
    summary="a name of `flax.optim`, whatever the file calls it",
    what="""\
`flax.optim.Adam` becomes `optim.Adam`, and `optim` is imported from `flaxoptim_compat`: under
another name if the file calls something else so. Where the import alone brings the new one
(`optim.Adam` after `from flax import optim`), the place itself stays as it is. With `--to optax`,
what no rule about optimizers rewrites is treated in the same way.""",
    why="`flaxoptim_compat.optim` has all names of `flax.optim`, and every step the same numbers.",
    refuses="""\
Where `flax.optim` had the name only by the way, such as `flax.optim.adam.jnp`. Where a name means
`flax.optim` in one place and something else in another, it is not found for certain: `scan` lists
it among what it did not understand.""",
    examples=(
        Example(
            before="""\
import flax


def is_optimizer(value):
    return isinstance(value, flax.optim.Optimizer) or value is flax.optim.adam._AdamParamState
""",
            shim="""\
from flaxoptim_compat import optim


def is_optimizer(value):
    return isinstance(value, optim.Optimizer) or value is optim.adam._AdamParamState
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each use of a name of ``flax.optim`` as an expression."""
    for use in uses_for(RULE.code, reading):
        yield finding(RULE.code, reading, use)
