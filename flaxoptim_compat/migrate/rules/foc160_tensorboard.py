"""flax.metrics.tensorboard, which wants TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.finding_names import findings

RULE = Rule(
    code="FOC160",
    name="tensorboard-without-tensorflow",
    summary="`flax.metrics.tensorboard`, which cannot be imported without TensorFlow",
    what=(
        "It is imported from `flaxoptim_compat.legacy.stand_ins`, whose `SummaryWriter` has the"
        " same methods and writes the same events with tensorboardX, an extra of this package."
    ),
    why=(
        "flax still has the module, but it imports TensorFlow and tensorboard, which programs of"
        " today seldom install. Where they are installed, `# noqa: FOC160` keeps it."
    ),
    refuses="Never.",
    examples=(
        Example(
            before=(
                "from flax.metrics import tensorboard\n\nwriter = tensorboard.SummaryWriter('x')\n"
            ),
            shim=(
                "from flaxoptim_compat.legacy.stand_ins import flax_tensorboard as tensorboard\n\n"
                "writer = tensorboard.SummaryWriter('x')\n"
            ),
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """The uses."""
    yield from findings(reading, RULE.code)
