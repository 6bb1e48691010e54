"""FOC105: a name of ``flax.optim`` in an annotation in quotes."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.names_of_flax_optim import finding, uses_for
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC105",
    name="quoted-annotation",
    summary="a name of `flax.optim` in an annotation in quotes",
    what="The same as FOC102 does outside of quotes; what else stands between the quotes stays.",
    why="""\
Nothing evaluates the annotation when the program starts, but `typing.get_type_hints`, dataclass
libraries and type checkers do.""",
    refuses="""\
Where the text between the quotes is not written as it reads: with escapes, in several pieces, over
several lines.""",
    examples=(
        Example(
            before="""\
import flax


def learning_rate(optimizer: "flax.optim.Optimizer") -> "float | None":
    return optimizer.optimizer_def.hyper_params.learning_rate
""",
            shim="""\
from flaxoptim_compat import optim


def learning_rate(optimizer: "optim.Optimizer") -> "float | None":
    return optimizer.optimizer_def.hyper_params.learning_rate
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each name of ``flax.optim`` between quotes, where an annotation is."""
    for use in uses_for(RULE.code, reading):
        yield finding(RULE.code, reading, use)
