"""FOC107: ``DynamicScale``, which flax still has, in another place."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.names_of_flax_optim import finding, uses_for
from flaxoptim_compat.migrate.rules.rule import Example, Rule

_AFTER = """\
from flax.training import dynamic_scale as dynamic_scale_lib

scale = dynamic_scale_lib.DynamicScale(growth_interval=10)
"""

RULE = Rule(
    code="FOC107",
    name="dynamic-scale",
    summary="`DynamicScale` from `flax.optim`",
    what="It comes from `flax.training.dynamic_scale`, with either target.",
    why="""\
The class is still part of Flax, which moved it there. Losses, gradients and scales are the same
numbers. Today's class has bounds besides: the scale stops at the largest float32 where it once
became infinite, and at the smallest normal one (`minimum_scale`) where it once became 0.""",
    refuses="",
    examples=(
        Example(
            before="""\
from flax import optim

scale = optim.DynamicScale(growth_interval=10)
""",
            shim=_AFTER,
            optax=_AFTER,
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each import and use of ``DynamicScale`` and of its module."""
    for use in uses_for(RULE.code, reading):
        yield finding(RULE.code, reading, use)
